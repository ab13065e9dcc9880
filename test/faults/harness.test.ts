// The harness of the ladder, with rungs made up for it: what it passes on, what it takes for a failure, what it writes.

import { existsSync, writeFileSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseArguments, UsageError } from "../../faults/lib/arguments.js";
import { BrokerProcess, faultSettings, NotReadyError } from "../../faults/lib/broker-process.js";
import { keepOutcomes, type Outcome, writeOutcome } from "../../faults/lib/outcome.js";
import { productOf } from "../../faults/lib/product.js";
import { Random } from "../../faults/lib/random.js";
import { trustPage } from "../../faults/lib/report.js";
import { type RunOptions, runRung } from "../../faults/lib/run-rung.js";
import type { Rung, RungResult, Stage } from "../../faults/lib/rung.js";
import { summary } from "../../faults/main.js";
import { rungs } from "../../faults/rungs.js";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";

const green: RungResult = { counts: { cuts: 12 }, losses: 0, failures: [], skipped: [] };

const rung = (name: string, run: (stage: Stage) => Promise<RungResult>, unfit?: string): Rung => ({
  name,
  title: `Tries ${name}`,
  about: `What ${name} does.`,
  unfit: () => Promise.resolve(unfit),
  run,
});

const options = (data: string, more: Partial<RunOptions> = {}): RunOptions => ({
  root,
  product: productOf(root),
  seed: 7,
  data,
  command: "npm run faults -- made-up",
  now: () => new Date("2026-11-30T12:00:00Z"),
  say: () => undefined,
  ...more,
});

describe("the ladder's harness", () => {
  it("gives a rung its seed, its rounds and an empty directory, and removes that when all went well", async () => {
    const data = tempDir("faults");
    let seen: Stage | undefined;
    const one = rung("one", (stage) => {
      seen = stage;
      writeFileSync(join(stage.directory, "left"), "x");
      return Promise.resolve(green);
    });
    const outcome = await runRung(one, options(data, { rounds: 5 }));
    expect(seen).toMatchObject({ seed: 7, rounds: 5, root, directory: join(data, "one") });
    expect(existsSync(join(data, "one"))).toBe(false);
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
    expect(existsSync(join(data, "lossy"))).toBe(true);
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
    expect(parseArguments(["a", "--only", "frame"], all).only).toBe("frame");
    expect(parseArguments(["a", "--part", "2/3"], all).part).toEqual({ index: 2, count: 3 });
    for (const part of ["0/2", "3/2", "1", "1/2/3", "x/2"]) {
      expect(() => parseArguments(["a", "--part", part], all)).toThrow(UsageError);
    }
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
    expect(page).toContain("Seeds: 3, 7. The last run");
    expect(page).toContain("What one does.");
    expect(page).toContain("Cut on ext4.");
    expect(page).not.toContain("about -->");
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
