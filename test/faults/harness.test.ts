// The harness of the ladder, with rungs made up for it: what it passes on, what it takes for a failure, what it writes.

import { readdirSync, writeFileSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseArguments, UsageError } from "../../faults/lib/arguments.js";
import { BrokerProcess, faultSettings, NotReadyError } from "../../faults/lib/broker-process.js";
import { inTurns } from "../../faults/lib/in-turns.js";
import { keepOutcomes, type Outcome, writeOutcome } from "../../faults/lib/outcome.js";
import { productOf } from "../../faults/lib/product.js";
import { Random } from "../../faults/lib/random.js";
import { trustPage } from "../../faults/lib/report.js";
import { BROKE, runRung } from "../../faults/lib/run-rung.js";
import { type Rung, replayOf, type Stage } from "../../faults/lib/rung.js";
import { summary } from "../../faults/main.js";
import { CALLS } from "../../faults/rungs/syscalls/calls.js";
import { nameOf, todos } from "../../faults/rungs/syscalls/rung.js";
import { rungs } from "../../faults/rungs.js";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";
import { green, options, rung } from "./made-up.js";

describe("the ladder's harness", () => {
  it("gives a rung its seed, its rounds and a directory of its own, and removes that when all went well", async () => {
    const data = tempDir("faults");
    let seen: Stage | undefined;
    const one = rung("one", (stage) => {
      seen = stage;
      writeFileSync(join(stage.directory, "left"), "x");
      return Promise.resolve(green);
    });
    const outcome = await runRung(one, options(data, { rounds: 5 }));
    expect(seen).toMatchObject({ seed: 7, rounds: 5, root });
    expect(dirname(seen?.directory ?? "")).toBe(data);
    expect(readdirSync(data)).toEqual([]);
    expect(outcome).toMatchObject({
      rung: "one",
      seed: 7,
      counts: { cuts: 12 },
      failures: [],
      date: "2026-11-30T12:00",
    });
    expect(summary([outcome])).toBe("1 passed, 0 failed");
  });

  it("takes a loss, an exception and a hang for failures that say how to see them again, and keeps the directory", async () => {
    const data = tempDir("faults");
    const lossy = await runRung(
      rung("lossy", () => Promise.resolve({ ...green, losses: 2 })),
      options(data),
    );
    expect(lossy.failures).toEqual([{ what: "2 losses", replay: "npm run faults -- lossy --seed 7" }]);
    const [kept] = readdirSync(data);
    expect(kept).toMatch(/^lossy-\d+-/);
    const broken = await runRung(
      rung("broken", () => Promise.reject(new Error("it broke"))),
      options(data, { rounds: 3 }),
    );
    expect(broken.failures[0]).toMatchObject({ replay: "npm run faults -- broken --seed 7 --rounds 3" });
    expect(broken.failures[0].what).toContain("it broke");
    const hung = await runRung(
      rung("hung", () => new Promise(() => undefined)),
      options(data, { limitSeconds: 0.05 }),
    );
    expect(hung.failures[0].what).toContain("did not end");
    expect(summary([lossy, broken, hung])).toBe("0 passed, 3 failed");
  });

  it("counts what cannot run here as skipped, and does not run it", async () => {
    const outcome = await runRung(
      rung("unfit", () => Promise.reject(new Error("it ran")), "it needs root"),
      options(tempDir("faults")),
    );
    expect(outcome).toMatchObject({ failures: [], skipped: [{ what: "unfit", why: "it needs root" }] });
    const partly = { ...outcome, rung: "partly", skipped: [{ what: "XFS", why: "no mkfs.xfs" }] };
    expect(summary([outcome, partly])).toBe("1 passed, 0 failed, 2 skipped");
  });

  it("reads its command line, and refuses what it does not know", () => {
    const all = ["a", "b"].map((name) => rung(name, () => Promise.resolve(green)));
    const names = (argv: string[]): string[] => parseArguments(argv, all).rungs.map(({ name }) => name);
    expect(names([])).toEqual(["a", "b"]);
    expect(names(["--ci"])).toEqual(["a", "b"]);
    expect(names(["b"])).toEqual(["b"]);
    expect(names(["--report"])).toEqual([]);
    expect(parseArguments(["a", "--seed", "9", "--rounds", "2", "--seconds", "3"], all)).toMatchObject({
      seed: 9,
      rounds: 2,
      seconds: 3,
    });
    const choosy: Rung[] = [{ ...all[0], parts: true, only: { what: "mutant", names: ["a frame", "a seal"] } }, all[1]];
    expect(parseArguments(["a", "--only", "frame"], choosy).only).toBe("frame");
    expect(parseArguments(["a", "--part", "2/3"], choosy).part).toEqual({ index: 2, count: 3 });
    for (const part of ["0/2", "3/2", "1", "1/2/3", "x/2"]) {
      expect(() => parseArguments(["a", "--part", part], choosy)).toThrow(UsageError);
    }
    for (const [argv, why] of [
      [["a", "--only", "("], "Invalid regular expression"],
      [["a", "--only", "nosuch"], "no mutant of a has a name that fits nosuch"],
      [["b", "--only", "frame"], "b has nothing to choose from"],
      [["--only", "frame"], "b has nothing to choose from"],
      [["b", "--part", "1/2"], "b has no parts"],
    ] as const) {
      expect(() => parseArguments(argv, choosy)).toThrow(why);
    }
    expect(parseArguments(["-h"], all).help).toBe(true);
    for (const wrong of [["c"], ["--rounds", "0"], ["--seed", "x"], ["--ci", "a"], ["--what"]]) {
      expect(() => parseArguments(wrong, all)).toThrow(UsageError);
    }
  });

  it("keeps each run, and makes a page of them that adds up those which found nothing", async () => {
    const dir = tempDir("faults");
    const one = rung("one", () => Promise.resolve(green));
    const two = rung("two", () => Promise.resolve(green));
    const ran = await runRung(one, options(tempDir("faults")));
    const outcome: Outcome = { ...ran, where: { ...ran.where, commit: "abc" }, notes: ["Cut on ext4."] };
    await writeOutcome(dir, { ...outcome, seed: 3, runs: 2, counts: { cuts: 5_000 } });
    await writeOutcome(dir, { ...outcome, seed: 4, failures: [{ what: "x", replay: "y" }] });
    await writeOutcome(dir, outcome);
    await writeOutcome(dir, { ...outcome, where: { ...outcome.where, commit: "abc with local changes" } });
    await mkdir(join(dir, "faults"));
    const first = await keepOutcomes(dir);
    await rm(join(dir, ".cache"), { recursive: true });
    await writeOutcome(dir, { ...outcome, command: `npm run faults -- one --dir ${dir}` });
    const kept = await keepOutcomes(dir);
    expect([first.length, kept.length]).toEqual([3, 4]);
    expect(await readFile(join(dir, "faults", "runs.jsonl"), "utf8")).not.toContain(dir);
    const page = trustPage([one, two], first, "<!-- about -->\n| what |\n");
    expect(page).toContain("| [one](#one) | 3 in 1 min | 5 012 cuts | 0 | 1 |");
    expect(page).toContain("| [two](#two) | not run | – |  |  |");
    expect(page).toContain("Seeds, 2 of them: 3, 7. The last run");
    expect(page).toContain("What one does.");
    expect(page).toContain("Cut on ext4.");
    expect(page).not.toContain("about -->");
  });

  it("shows of a row what it is about, and of a rung its last run that judged something", async () => {
    const ran = await runRung(
      rung("one", () => Promise.resolve(green)),
      options(tempDir("faults")),
    );
    const whole: Outcome = { ...ran, counts: { calls: 9, cuts: 5, torn: 1 }, notes: ["Cut on ext4."] };
    const skipped: Outcome = {
      ...ran,
      counts: {},
      command: "as nobody",
      skipped: [{ what: "one", why: "needs root" }],
    };
    const nothing: Outcome = { ...ran, seed: 8, skipped: [{ what: "one", why: "too short" }] };
    const one: Rung = { ...rung("one", () => Promise.resolve(green)), headline: ["cuts"] };
    const page = trustPage([one], [whole, skipped, nothing], "");
    expect(page).toContain("| [one](#one) | 1 in 1 min | 5 cuts | 0 |  |");
    expect(page).toContain("Tried: 5 cuts, 9 calls, 1 torn.");
    expect(page).toContain("Seeds, 1 of them: 7. The last run: `npm run faults -- made-up`");
    expect(page).toContain("Cut on ext4.");
    expect(page).not.toContain("needs root");
    expect(trustPage([one], [skipped], "")).toContain("- Skipped: one: needs root");
  });

  it("does not take a run for green that had nothing to compare, nor a full disk for a fault of the product", async () => {
    const data = tempDir("faults");
    const idle: Rung = {
      ...rung("idle", () => Promise.resolve({ ...green, counts: { kills: 1, records: 0 } })),
      proves: "records",
    };
    const outcome = await runRung(idle, options(data));
    expect(outcome.skipped).toEqual([{ what: "idle", why: "too short: 0 records, so nothing was compared" }]);
    expect(summary([outcome])).toBe("0 passed, 0 failed, 1 skipped");
    const noRoom = Object.assign(new Error("ENOSPC: no space left on device, write"), {
      code: "ENOSPC",
      syscall: "write",
    });
    const full = await runRung(
      rung("full", () => Promise.reject(noRoom)),
      options(data),
    );
    expect(full.failures).toMatchObject([{ what: expect.stringContaining(BROKE), ofStand: true }]);
    const said = Object.assign(new Error("LOG_FULL"), { code: "ENOSPC" });
    const product = await runRung(
      rung("product", () => Promise.reject(said)),
      options(data),
    );
    expect(product.failures[0].ofStand).toBeUndefined();
  });

  it("says all choices of a run that is to be seen again", () => {
    expect(replayOf("sweep", { seed: 9, rounds: 40, part: { index: 2, count: 16 } })).toBe(
      "npm run faults -- sweep --seed 9 --rounds 40 --part 2/16",
    );
    expect(replayOf("syscalls", { seed: 9, only: "^what it's" })).toBe(
      "npm run faults -- syscalls --seed 9 --only '^what it'\\''s'",
    );
  });

  it("makes the same choices of calls that fail, also where some came once more or less", () => {
    const order = (counts: readonly number[]): string[] => {
      const base = { name: "on nothing", directory: undefined, ledgers: [] };
      return inTurns(todos(base, counts, new Random(9))).map(({ injection }) => nameOf(base, injection));
    };
    const counts = CALLS.map((_, at) => 20 + at);
    const [once, again] = [order(counts), order(counts.map((count, at) => count + (at % 3) - 1))];
    const first = (names: readonly string[]): Set<string> => new Set(names.slice(0, 100));
    const both = [...first(once)].filter((name) => first(again).has(name));
    expect(both.length).toBeGreaterThan(90);
    expect(new Set(once).size).toBe(once.length);
  });

  it("has a rung for each name once", () => {
    const names = rungs.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z-]+$/.test(name))).toEqual([]);
  });
});

describe("the ladder's random choices", () => {
  it("are the same for the same seed, and those of a part do not depend on what another part drew", () => {
    const draw = (random: Random): number[] => Array.from({ length: 20 }, () => random.int(0, 1_000));
    expect(draw(new Random(5))).toEqual(draw(new Random(5)));
    expect(draw(new Random(5))).not.toEqual(draw(new Random(6)));
    const drawn = new Random(5);
    draw(drawn);
    expect(draw(drawn.fork("part"))).toEqual(draw(new Random(5).fork("part")));
    expect(draw(new Random(5).fork("part"))).not.toEqual(draw(new Random(5).fork("port")));
  });

  it("stay in their bounds", () => {
    const random = new Random(1);
    for (let i = 0; i < 1_000; i++) {
      expect([3, 4, 5]).toContain(random.int(3, 6));
      expect(random.skewed(1, 10)).toBeLessThan(10);
    }
    expect(random.shuffled([1, 2, 3, 4]).sort()).toEqual([1, 2, 3, 4]);
  });
});

describe("the ladder's brokers", () => {
  it("are ready when they say so, and end by a kill and by a stop", async () => {
    const settings = faultSettings(tempDir("broker"));
    const killed = await BrokerProcess.start(productOf(root), settings);
    expect(killed.port).toBeGreaterThan(0);
    await killed.kill();
    expect(killed.ended).toEqual({ code: null, signal: "SIGKILL" });
    const stopped = await BrokerProcess.start(productOf(root), settings);
    expect(await stopped.stop()).toEqual({ code: 0, signal: null });
    expect(stopped.lines.length).toBeGreaterThan(0);
  });

  it("say how they ended when they do not get ready", async () => {
    const settings = { ...faultSettings(tempDir("broker")), "segment.bytes": "nothing" };
    const failed = await BrokerProcess.start(productOf(root), settings).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(NotReadyError);
    expect(failed).toMatchObject({ ended: { code: 2 } });
    expect((failed as Error).message).toContain("segment.bytes");
  });
});
