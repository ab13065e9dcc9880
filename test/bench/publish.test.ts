// Which results may take the place of the published pages, and what they look like then.

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { markdown, type RunResult, type SectionResult } from "../../bench/lib/report.js";
import { NoResult, writeResult } from "../../bench/lib/results.js";
import { main, runMain } from "../../bench/main.js";
import { questions } from "../../bench/questions.js";
import { html } from "../../bench/report/html.js";
import { tempDir } from "../support/tmp.js";
import { caseOf, runOf } from "./results.js";

const names = questions.map(({ name }) => name);

async function section(name: string): Promise<SectionResult> {
  const one = await caseOf("a case", "requests/s", [
    { name: "millrace", values: [50, 60] },
    { name: "floor", values: [100, 100] },
  ]);
  return { name, title: `Title of ${name}`, about: "", cases: [one] };
}

const resultOf = async (of: readonly string[], commit?: string): Promise<RunResult> =>
  runOf(await Promise.all(of.map(section)), commit);

/** A checkout with published pages. */
async function checkout(): Promise<string> {
  const root = tempDir();
  for (const path of ["docs/figures", ".cache/bench/page", "bench/results"]) {
    await mkdir(join(root, path), { recursive: true });
  }
  for (const path of ["docs/figures.md", "docs/figures/old-bars.svg", ".cache/bench/page/page.css"]) {
    await writeFile(join(root, path), "old");
  }
  await writeFile(join(root, ".cache/bench/page/page.js"), "");
  return root;
}

/** What `report` says and prints, with its exit code. */
async function report(root: string, ...args: string[]) {
  const said: string[] = [];
  const spies = (["stdout", "stderr"] as const).map((stream) =>
    vi.spyOn(process[stream], "write").mockImplementation((text) => said.push(`${stream}: ${text}`) > 0),
  );
  try {
    return { code: await main(root, undefined, ["report", ...args]), said: said.join("") };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

describe("report", () => {
  it("leaves the published pages alone when the results lack questions, writes beside them and says how to publish", async () => {
    const root = await checkout();
    const path = join(root, "bench/results/one.json");
    await writeResult(path, await resultOf(["forced"]));
    const { code, said } = await report(root, path);
    expect(code).toBe(0);
    expect(await readFile(join(root, "docs/figures.md"), "utf8")).toBe("old");
    expect(await readdir(join(root, "docs"))).toEqual(["figures", "figures.md"]);
    expect(await readdir(join(root, "docs/figures"))).toEqual(["old-bars.svg"]);
    expect(await readFile(join(root, "bench/results/one.html"), "utf8")).toContain("Title of forced");
    expect(said).toContain("nothing about append, append-sizes,");
    expect(said).toContain(`npm run bench -- report ALL.json ${path}`);
  });

  it("publishes several files that are about all questions together, and removes pictures of before", async () => {
    const root = await checkout();
    const [all, one] = ["all", "one"].map((name) => join(root, "bench/results", `${name}.json`));
    await writeResult(all, await resultOf(names.slice(1)));
    await writeResult(one, await resultOf([names[0]], "other"));
    expect((await report(root, all, one)).said).toContain("report: docs/figures.md");
    const pictures = await readdir(join(root, "docs/figures"));
    expect(pictures.toSorted()).toEqual([...names.map((name) => `${name}-bars.svg`), "run.json"].toSorted());
    expect(await readFile(join(root, "docs/figures.md"), "utf8")).toContain("Out of a run of its own");
  });

  it("refuses a file that is not there or is no result, in a line", async () => {
    const root = await checkout();
    const path = join(root, "other.json");
    await expect(report(root, path)).rejects.toThrow(`there is no ${path}`);
    for (const text of [
      "{",
      "null",
      "[]",
      '{"sections":[]}',
      '{"environment":{"date":"","commit":""},"sections":[{}]}',
    ]) {
      await writeFile(path, text);
      const refused = report(root, path);
      await expect(refused, text).rejects.toThrow(NoResult);
      await expect(refused, text).rejects.toThrow(`${path} is not a result of this bench`);
    }
    await expect(report(root, root)).rejects.toThrow(`${root} cannot be read: EISDIR`);
  });

  it("ends with 2 then, and says only that", async () => {
    const said: string[] = [];
    const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
    try {
      await runMain(tempDir(), undefined, ["report", "/no/such.json"]);
      expect([process.exitCode, said]).toEqual([2, ["there is no /no/such.json\n"]]);
      said.length = 0;
      await runMain(tempDir(), undefined, ["--check", "--record"]);
      expect([process.exitCode, said.join("").split("\n").length]).toEqual([2, 3]);
    } finally {
      spy.mockRestore();
      process.exitCode = undefined;
    }
  });
});

describe("a page of a run with local changes", () => {
  const mark = "measured at commit abc with local changes, so what ran is in no commit.";

  it("says above all that it cannot be repeated, also when only a section is of such a run", async () => {
    const run = await resultOf(["forced"], "abc with local changes");
    const { date, load } = run.environment;
    const mixed = await resultOf(["forced"], "def");
    const own = { date, load, commit: "abc with local changes", command: "x" };
    const sections = mixed.sections.map((each) => ({ ...each, run: own }));
    for (const each of [run, { ...mixed, sections }]) {
      expect(markdown(each).split("| when |")[0]).toContain(`**Cannot be repeated:** ${mark}`);
      expect(html(each, { style: "", script: "" })).toContain(
        `<p class="warning"><strong>Cannot be repeated:</strong> ${mark}`,
      );
    }
    expect(markdown(mixed)).not.toContain("Cannot be repeated");
  });
});
