// The mutants of the ladder: each fits the sources exactly once, names a rung that there is, and what becomes of one that nothing notices.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BROKE } from "../../faults/lib/run-rung.js";
import { type Mutant, mutated } from "../../faults/rungs/mutation/mutant.js";
import { mutants } from "../../faults/rungs/mutation/mutants.js";
import { chosen, resultOf, verdictOf } from "../../faults/rungs/mutation/mutation.js";
import { notesOf, notesOfAll } from "../../faults/rungs/mutation/notes.js";
import { rungs } from "../../faults/rungs.js";
import { root } from "../rules/sources.js";

const mutant = (more: Partial<Mutant> = {}): Mutant => ({
  name: "the lock",
  safeguard: "check",
  file: "src/a.ts",
  from: "lock();",
  to: "",
  rung: "kill",
  ...more,
});

const stage = {
  seed: 7,
  directory: "",
  root,
  product: { dist: "", addon: "" },
  progress: () => undefined,
};

describe("mutants", () => {
  it.each(mutants.map((each) => [each.name, each] as const))(
    "%s: is one edit of the sources as they are",
    (_, each) => {
      const text = readFileSync(join(root, each.file), "utf8");
      expect(mutated(text, each)).not.toBe(text);
      expect(rungs.map(({ name }) => name)).toContain(each.rung);
      expect(each.rung).not.toBe("mutation");
    },
  );

  it("have names of their own", () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
  });

  it("take away barriers, orders of publication and checks, some of each", () => {
    const kinds = new Set(mutants.map(({ safeguard }) => safeguard));
    expect([...kinds]).toEqual(expect.arrayContaining(["barrier", "check", "order of publication"]));
  });

  it("are refused when what they replace is not there, or there twice", () => {
    expect(mutated("a(); lock(); b();", mutant())).toBe("a();  b();");
    expect(() => mutated("a(); b();", mutant())).toThrow('mutant "the lock": src/a.ts does not have');
    expect(() => mutated("lock(); lock();", mutant())).toThrow("more than once");
  });

  it("are all tried by hand, in continuous integration those that something is to notice, and with --only those that fit", () => {
    const names = (more: object): readonly string[] => chosen({ ...stage, ...more }).map(({ name }) => name);
    expect(names({ rounds: 1000 })).toHaveLength(mutants.length);
    expect(names({})).toHaveLength(mutants.filter(({ covered }) => covered === undefined).length);
    expect([...names({ only: "^the longest (frame|answer)" })].sort()).toEqual([
      "the longest answer that a client takes",
      "the longest frame",
    ]);
  });

  it("one that nothing notices is a failure, unless something else does its work", () => {
    const tried = [
      { mutant: mutant(), noticed: "records are gone", seconds: 3 },
      { mutant: mutant({ name: "the sum" }), seconds: 9 },
      { mutant: mutant({ name: "the fsync", covered: "the journal does it" }), seconds: 9 },
      { mutant: mutant({ name: "the cut", rung: "power-cut" }), unfit: "no root", seconds: 0 },
    ];
    const { counts, failures, skipped, notes } = resultOf(stage, tried);
    expect(counts).toEqual({ "mutants tried": 3, "mutants noticed": 1, "of these without effect here": 1 });
    expect(failures.map(({ what }) => what)).toEqual([
      "nothing noticed that this was gone: the sum (src/a.ts, rung kill)",
    ]);
    expect(skipped).toEqual([{ what: "mutant: the cut", why: "no root" }]);
    expect(notes).toContain("| check | the fsync | not noticed: the journal does it |");
    expect(notes).toContain("| check | the lock | kill, after 3 s |");
  });
});

describe("the word on a mutant", () => {
  const ended = (stderr: string, more: object = {}) => Object.assign(new Error("Command failed"), { stderr, ...more });

  it("is that of the rung's oracle, and not of a rung that could not begin or of a disk that was full", () => {
    expect(verdictOf(ended("x\n  FAILED: a record is gone\n    npm run", { code: 1 }))).toBe("a record is gone");
    expect(verdictOf(ended("", { killed: true }))).toBe("it hangs");
    expect(verdictOf(ended("/dev/shm lies in memory", { code: 2 }))).toMatch(new RegExp(`^${BROKE}`));
    expect(verdictOf(ended(`FAILED: ${BROKE}: ENOSPC`, { code: 1 }))).toMatch(new RegExp(`^${BROKE}`));
  });

  it("is the last one of all runs, for each that there is today, and those without are named", () => {
    const tried = (name: string, noticed?: string, covered?: string) => ({
      mutant: mutant({ name, covered }),
      noticed,
      seconds: 3,
    });
    const runs = [
      { notes: notesOf([tried("the lock"), tried("one that is gone", "x")]) },
      { notes: notesOf([tried("the lock", "y"), tried("the key", undefined, "the lock does it")]) },
    ];
    const lines = notesOfAll(runs, [mutant(), mutant({ name: "the key" }), mutant({ name: "the door" })]);
    expect(lines.slice(0, 2)).toEqual([
      expect.stringMatching(/^Of 3 mutants 2 were tried: 1 were noticed, and 1 cannot be/),
      "Not tried: the door.",
    ]);
    expect(lines.slice(-2)).toEqual([
      "| check | the key | not noticed: the lock does it |",
      "| check | the lock | kill, after 3 s |",
    ]);
  });
});
