// Each example, run as its README says: by one command, on a broker of its own and, twice, on one that is there.

import { execFile } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { startBroker } from "../../src/index.js";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";

const folder = join(root, "examples");
const readme = readFileSync(join(folder, "README.md"), "utf8");
const examples = readdirSync(folder)
  .filter((name) => name.endsWith(".mjs") && name !== "support.mjs")
  .sort();
/** What the README says that each needs. */
const topicsOf = new Map(
  [...readme.matchAll(/^\| \[([\w-]+\.mjs)\].*\| `(.*)` \|$/gm)].map(([, name, topics]) => [name, topics]),
);
const MINUTE = 60_000;

/** Time passes between a look at a file and the next call, as it does on a busy machine. */
const SLOW_LOOKS = `
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
for (const name of ["stat", "open"]) {
  const call = fs[name];
  fs[name] = async (path, ...rest) => {
    if (String(path).includes("app.log")) await new Promise((resolve) => setTimeout(resolve, Number(process.env.SLOW_MS)));
    return call(path, ...rest);
  };
}
syncBuiltinESMExports();
`;

let temporary = "";

async function run(name: string, environment: Record<string, string> = {}): Promise<string[]> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: temporary, ...environment };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [`examples/${name}`], {
    cwd: root,
    env,
    timeout: MINUTE,
  });
  expect(stderr, name).toBe("");
  return stdout.trimEnd().split("\n");
}

describe("the examples", () => {
  beforeAll(() => {
    temporary = tempDir("examples");
  });

  it("are those that the README names", () => {
    expect([...topicsOf.keys()].sort()).toEqual(examples);
    expect(examples).toHaveLength(5);
    // What it gives to a broker of the reader's own is all of them.
    expect(readme).toContain(`--topics ${[...topicsOf.values()].join(",")} &`);
  });

  it.each(examples)(
    "%s runs by one command on a broker of its own, shows what it says and leaves nothing",
    async (name) => {
      const lines = await run(name);
      expect(lines[0]).toMatch(/^started a broker for this example at 127\.0\.0\.1:\d+; it will leave nothing behind$/);
      expect(lines.filter((line) => line.startsWith("ok: ")).length).toBeGreaterThan(0);
      expect(lines.at(-1)).toMatch(/^ok: /);
      expect(readdirSync(temporary)).toEqual([]);
    },
    MINUTE,
  );

  it(
    "run twice on one broker that is there, side by side",
    async () => {
      await using broker = await startBroker({
        ephemeral: true,
        settings: { topics: [...topicsOf.values()].join(",") },
      });
      for (let round = 0; round < 2; round++) {
        const outputs = await Promise.all(examples.map((name) => run(name, { MILLRACE_BROKER: broker.address })));
        for (const lines of outputs) {
          expect(lines[0]).toBe(
            `using the broker at ${broker.address}, which must have the topics ${lines[0]?.split(" topics ")[1]}`,
          );
          expect(lines.at(-1)).toMatch(/^ok: /);
        }
      }
    },
    2 * MINUTE,
  );

  it(
    "end with 1 and say what is wrong when they cannot show it",
    async () => {
      await using broker = await startBroker({ ephemeral: true, settings: { topics: "other:1" } });
      const failing = async (name: string, address: string): Promise<string> => {
        const failed = await run(name, { MILLRACE_BROKER: address }).catch((error: unknown) => error);
        expect(failed).toMatchObject({ code: 1, stderr: expect.not.stringContaining("    at ") });
        return (failed as { stderr: string }).stderr;
      };
      const told = await failing("work-queue.mjs", broker.address);
      expect(told).toContain(`the broker at ${broker.address} lacks jobs:1,claims:1 (topic:partitions).`);
      expect(told).toContain("npm start -- --topics jobs:1,claims:1");
      await using small = await startBroker({ ephemeral: true, settings: { topics: "accounts:2" } });
      expect(await failing("projection.mjs", small.address)).toContain("lacks accounts:3");
      expect(await failing("sse.mjs", "127.0.0.1:1")).toContain("could not connect to 127.0.0.1:1");
    },
    MINUTE,
  );

  it(
    "tails a file that is rotated while it is looked for and opened, and loses no line",
    async () => {
      const preload = join(tempDir("preload"), "slow.mjs");
      writeFileSync(preload, SLOW_LOOKS);
      for (let round = 0; round < 3; round++) {
        const lines = await run("tail-file.mjs", {
          NODE_OPTIONS: `--import ${preload}`,
          SLOW_MS: String(5 + 5 * round),
        });
        expect(lines.at(-1)).toBe("ok: each line is there once, in order");
      }
    },
    MINUTE,
  );

  it(
    "are sound as far as the types of the package say",
    async () => {
      const config = join(tempDir("checked"), "tsconfig.json");
      const compilerOptions = {
        strict: true,
        allowJs: true,
        checkJs: true,
        noEmit: true,
        skipLibCheck: true,
        target: "es2022",
        lib: ["es2023", "esnext.disposable", "dom"],
        module: "nodenext",
        typeRoots: [join(root, "node_modules/@types")],
        types: ["node"],
      };
      writeFileSync(config, JSON.stringify({ compilerOptions, files: examples.map((name) => join(folder, name)) }));
      const tsc = join(root, "node_modules/typescript/bin/tsc");
      const checked = promisify(execFile)(process.execPath, [tsc, "-p", config], { cwd: root });
      expect(await checked.then(({ stdout }) => stdout).catch((error: { stdout: string }) => error.stdout)).toBe("");
    },
    MINUTE,
  );
});
