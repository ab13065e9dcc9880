// Where rungs work: beside others, and never on what is theirs.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { runRung } from "../../faults/lib/run-rung.js";
import { makeWorkDir, prepareData } from "../../faults/lib/work-dir.js";
import { tempDir } from "../support/tmp.js";
import { green, options, rung } from "./made-up.js";

describe("the directory of a rung", () => {
  it("leaves alone what others have where it works, and what another run has there", async () => {
    const data = tempDir("faults");
    const theirs = ["one", `one-${2 ** 22 + 1}-abcdef`].map((name) => join(data, name, "thesis"));
    for (const path of theirs) {
      await mkdir(dirname(path));
      writeFileSync(path, "precious");
    }
    let begin: () => void = () => undefined;
    const first = runRung(
      rung("one", async ({ directory }) => {
        writeFileSync(join(directory, "mine"), "x");
        await new Promise<void>((resolve) => {
          begin = resolve;
        });
        return existsSync(join(directory, "mine")) ? green : { ...green, losses: 1 };
      }),
      options(data),
    );
    await runRung(
      rung("one", () => Promise.resolve({ ...green, losses: 1 })),
      options(data),
    );
    begin();
    expect((await first).failures).toEqual([]);
    for (const path of theirs) expect(readFileSync(path, "utf8")).toBe("precious");
    expect(readdirSync(data)).toHaveLength(3);
  });

  it("removes what a run has left that ended, and nothing else of its name", async () => {
    const data = tempDir("faults");
    const left = await makeWorkDir(data, "one");
    const gone = join(data, `one-${2 ** 22 + 1}-abcdef`);
    await rename(left, gone);
    await makeWorkDir(data, "other");
    expect(existsSync(gone)).toBe(true);
    await makeWorkDir(data, "one");
    expect(existsSync(gone)).toBe(false);
  });

  it("refuses a directory in memory, or one that takes nothing, before it touches anything", async () => {
    for (const [path, why] of [
      ["/dev/shm/millrace-no", "lies in memory"],
      ["/proc/millrace-no", "nothing can be written to /proc/millrace-no"],
    ]) {
      await expect(prepareData(path)).rejects.toThrow(why);
      expect(existsSync(path)).toBe(false);
    }
    const made = join(tempDir("faults"), "a", "b");
    await prepareData(made);
    expect(readdirSync(made)).toEqual([]);
  });
});
