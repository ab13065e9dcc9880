// Every code block of the README and of docs/ is run: by its language here, by a test that reads the page, or by the one that the page
// is made by. One that cannot be says so, and why, in a comment before it.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../rules/sources.js";
import { spawnReady, testSettings } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";
import { type Block, blocksIn, blocksOf } from "./blocks.js";
import { runProgram } from "./programs.js";
import { matches, Session } from "./session.js";
import { checkSettings } from "./settings-file.js";

const docs = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
const pages = ["README.md", "examples/README.md", ...docs.map((name) => `docs/${name}`).sort()];

/** Pages whose blocks all come out of what is named. */
const MADE: Readonly<Record<string, string>> = {
  "docs/cli.md": "test/cli/page.test.ts",
  "docs/settings-refusals.md": "test/ops/refusals-page.test.ts",
  "docs/figures.md": "bench/report/publish.ts",
  "docs/peers.md": "bench/peers.ts",
};

/** Blocks that other tests read and carry out: by page and the beginning of the block. */
const RUN_BY: readonly (readonly [page: string, begins: string, test: string])[] = [
  ["README.md", "$ npm start -- --topics orders:1 &", "test/docs/readme.test.ts"],
  ["README.md", "$ millrace consume orders --format", "test/docs/readme.test.ts"],
  ["README.md", "$ kill -9 4242", "test/docs/readme.test.ts"],
  ["README.md", 'import { connect, fileCheckpoints } from "millrace/client"', "test/docs/readme.test.ts"],
  ["README.md", "millrace ready host=127.0.0.1", "test/docs/code-blocks.test.ts"],
  ["examples/README.md", "node examples/", "test/examples/examples.test.ts"],
  ["examples/README.md", "npm start -- --topics", "test/examples/examples.test.ts"],
  ["docs/installing.md", "npm install millrace", "test/package/install.test.ts"],
  ["docs/installing.md", "npm install --global millrace", "test/package/service.test.ts"],
  ["docs/contributing.md", "src/", "test/rules/repository.test.ts"],
  ["docs/side-port.md", "$ curl", "test/docs/side-port.test.ts"],
  ["docs/envelope.md", "0        1", "test/client/codec/envelope.test.ts"],
];

const RUN_HERE = new Set(["console", "ts", "toml"]);
const others = pages.filter((page) => MADE[page] === undefined).flatMap(blocksOf);
const runBy = (page: string, text: string) => RUN_BY.find(([of, begins]) => of === page && text.startsWith(begins));
const here = others.filter(
  ({ page, text, language, notRun }) =>
    notRun === undefined && runBy(page, text) === undefined && RUN_HERE.has(language),
);
const of = (language: string) => here.filter((block) => block.language === language);

it("every block of a document is run, or says why it is not", () => {
  const left = others.filter(
    (block) => block.notRun === undefined && runBy(block.page, block.text) === undefined && !here.includes(block),
  );
  expect(
    left.map(({ page, line }) => `${page}:${line}: nothing runs it; <!-- not run: why --> says that nothing can`),
  ).toEqual([]);
});

it("a mark that names a test names one that is there", () => {
  const named = others.flatMap(({ page, line, notRun = "" }) =>
    [...notRun.matchAll(/test\/\S+\.ts/g)].map(([test]) => ({ where: `${page}:${line}`, test })),
  );
  expect(named.filter(({ test }) => !existsSync(join(root, test)))).toEqual([]);
});

it("a block is not marked and run as well, and the tests that run blocks read those pages", () => {
  for (const [page, begins, test] of RUN_BY) {
    const found = others.filter((block) => block.page === page && block.text.startsWith(begins));
    expect([page, begins, found.length > 0, found.filter(({ notRun }) => notRun !== undefined)]).toEqual([
      page,
      begins,
      true,
      [],
    ]);
    expect(readFileSync(join(root, test), "utf8"), test).toContain(page.replace("examples/", ""));
  }
  for (const [page, maker] of Object.entries(MADE)) {
    expect(readFileSync(join(root, maker), "utf8"), maker).toContain(page.replace("docs/", ""));
  }
});

describe("sessions in a shell", () => {
  const sessions = new Map<string, Block[]>();
  for (const block of of("console")) sessions.set(block.page, [...(sessions.get(block.page) ?? []), block]);
  it.each([...sessions])(
    "what %s shows is what is printed",
    async (_page, blocks) => {
      const session = new Session();
      for (const block of blocks) await session.run(block);
      expect(session.commands).toBeGreaterThan(0);
    },
    120_000,
  );

  it("are there", () => {
    expect(sessions.size).toBeGreaterThan(0);
  });
});

describe("programs", () => {
  it.each(of("ts").map((block) => [`${block.page}:${block.line}`, block] as const))(
    "%s prints what it says",
    async (_name, block) => {
      await runProgram(block);
    },
    30_000,
  );
});

it("files of settings are taken", () => {
  expect(of("toml").length).toBeGreaterThan(0);
  for (const block of of("toml")) checkSettings(block);
});

it("the README's ready line is one", async () => {
  const written = others.find(({ page, text }) => page === "README.md" && text.startsWith("millrace ready"));
  const broker = await spawnReady({
    ...testSettings(join(tempDir("ready"), "data")),
    "ops.enabled": true,
    "ops.port": 0,
  });
  const shape = (line = ""): string => line.trim().replaceAll(/\d+/g, "0");
  expect(shape(written?.text)).toBe(shape(broker.stdout));
});

describe("the checks themselves", () => {
  it("see blocks, their languages and the comment before them", () => {
    const text =
      "<!-- not run: it needs a disk -->\n\n```sh\na\n```\n\ntext\n\n```\n$ b\n```\n\n- list\n  ```ts\n  c\n  ```\n";
    expect(blocksIn("p", text)).toEqual([
      { page: "p", line: 3, language: "sh", text: "a", notRun: "it needs a disk" },
      { page: "p", line: 9, language: "", text: "$ b", notRun: undefined },
      { page: "p", line: 14, language: "ts", text: "  c", notRun: undefined },
    ]);
  });

  it("take no comment without a reason, and no block without an end", () => {
    expect(blocksIn("p", "<!-- not run: -->\n```\na\n```\n")[0]?.notRun).toBeUndefined();
    expect(() => blocksIn("p", "```\na\n")).toThrow("p:1: a block without an end");
  });

  it.each([
    [["a", "b"], ["a", "b"], true],
    [["a", "b"], ["a"], false],
    [["a"], ["a", "b"], false],
    [[""], [], true],
    [["a 12 b"], ["a … b"], true],
    [["a 12 c"], ["a … b"], false],
    [["x", "y", "z"], ["…", "z"], true],
    [["x", "y"], ["…", "z"], false],
    [["x", "y"], ["x", "…"], true],
    [["a.b"], ["a.b"], true],
    [["axb"], ["a.b"], false],
  ])("%j for %j on the page: %s", (lines, page, isRight) => {
    expect(matches(lines, page)).toBe(isRight);
  });
});
