// The command line: what is asked for, what is refused in a line before anything is built, and what no compiler is needed for.

import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { buildTools, NoTools } from "../../bench/build.mjs";
import { PEERS, parseCommandLine, QUESTIONS, UsageError, usage } from "../../bench/command-line.mjs";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";

const refused = (...argv: string[]): string => {
  try {
    parseCommandLine(argv);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as Error).message;
  }
  return "taken";
};

describe("the command line", () => {
  it("asks all questions, or those named, with as many rounds as suit", () => {
    expect(parseCommandLine([])).toMatchObject({ command: "run", names: Object.keys(QUESTIONS), rounds: 7 });
    expect(parseCommandLine(["start", "--quick"])).toMatchObject({ names: ["start"], quick: true, rounds: 2 });
    expect(parseCommandLine(["--check"])).toMatchObject({ quick: true, check: true, rounds: 3, report: true });
    expect(parseCommandLine(["peers", "--no-report"])).toMatchObject({
      command: "peers",
      names: PEERS,
      rounds: 5,
      report: false,
    });
    expect(parseCommandLine(["report", "a.json"])).toEqual({ command: "report", files: ["a.json"], report: true });
    expect(parseCommandLine(["peers", "--fetch"])).toEqual({ command: "fetch" });
    for (const flag of ["-h", "--help"]) expect(parseCommandLine([flag, "start"])).toEqual({ command: "help" });
  });

  it("refuses what is not there, and says what there is", () => {
    expect(refused("nosuch")).toBe("there is no question nosuch");
    expect(refused("toString")).toBe("there is no question toString");
    expect(refused("peers", "kafkaa")).toBe("there is no peer kafkaa; there are redis, nats, kafka");
    expect(refused("--nosuch")).toBe("Unknown option '--nosuch'");
    expect(refused("--rounds")).toContain("--rounds");
    expect(refused("--rounds", "0")).toBe("--rounds: 0 is no number from 1");
    expect(refused("--rounds", "-1")).not.toBe("taken");
    expect(refused("--dir", "")).toBe("--dir: which DIRECTORY?");
    expect(refused("report")).toBe("report: which FILE.json?");
  });

  it("refuses options that contradict each other, and those that a command does not know", () => {
    expect(refused("--check", "--record")).toContain("--check and --record");
    expect(refused("--quick", "--full")).toContain("--full: not beside");
    expect(refused("--fetch")).toBe("--fetch: of peers only");
    expect(refused("peers", "--check")).toBe("--check: not with peers");
    expect(refused("peers", "--fetch", "--quick")).toBe("--quick: not with peers --fetch");
    expect(refused("report", "a.json", "--dir", "x", "--full")).toBe("--dir, --full: not with report");
  });
});

/** Without a compiler, or any other program. */
async function bench(...argv: string[]) {
  const args = [join(root, "bench", "bench.mjs"), ...argv];
  const ran = promisify(execFile)(process.execPath, args, { cwd: root, env: { PATH: "/nowhere", CXX: "/no/such" } });
  return ran.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

describe("the bench", () => {
  it("shows its help without a compiler, on stdout", async () => {
    expect(await bench("--help")).toMatchObject({ code: 0, stdout: `${usage()}\n`, stderr: "" });
  });

  it("refuses a wrong option in a line with a hint, and ends with 2", async () => {
    const { code, stdout, stderr } = await bench("--nosuch");
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe("Unknown option '--nosuch'\nnpm run bench -- --help says what there is\n");
  });

  it("says in a line that there is no compiler, and which was looked for", async () => {
    const before = process.env.CXX;
    const into = tempDir();
    try {
      process.env.CXX = "/no/such-compiler -O1";
      const error = (await buildTools(into).catch((cause: unknown) => cause)) as NoTools;
      expect(error).toBeInstanceOf(NoTools);
      expect(error.message).toMatch(/^there is no C\+\+ compiler \/no\/such-compiler, [^\n]*CXX names it$/);
      expect(error.exitCode).toBe(2);
      process.env.CXX = "false";
      const failed = (await buildTools(into).catch((cause: unknown) => cause)) as NoTools;
      expect([failed.message, failed.exitCode]).toEqual([
        expect.stringContaining("does not build (false ended with 1)"),
        1,
      ]);
      expect(await readdir(into)).toEqual([]);
    } finally {
      if (before === undefined) delete process.env.CXX;
      else process.env.CXX = before;
    }
  });
});
