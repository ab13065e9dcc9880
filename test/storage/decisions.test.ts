// What is decided without a file: the sparse index, epochs, retention, windows, who stays in memory.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  EPOCHS_MAX,
  POPULATE_AHEAD_PARTITION_MAX,
  RESERVE_WINDOW_MAX,
  RESERVE_WINDOW_MIN,
} from "../../src/model/limits.js";
import type { NativeFile } from "../../src/native/binding.js";
import { currentEpoch, currentEpochStart, type EpochEntry, raiseEpoch, truncatedAt } from "../../src/storage/epochs.js";
import { type FileHolder, FilePool } from "../../src/storage/file-pool.js";
import { IndexCache, type IndexHolder } from "../../src/storage/index-cache.js";
import { OffsetHits } from "../../src/storage/offset-hits.js";
import { OffsetIndex } from "../../src/storage/offset-index.js";
import { PopulateBudget, populateWindow } from "../../src/storage/populate-window.js";
import { prepareTrigger, reserveTarget, reserveTrigger } from "../../src/storage/reserve-window.js";
import { retentionReasons } from "../../src/storage/retention.js";
import { sealCount } from "../../src/storage/seal-policy.js";
import { printedSeed } from "../support/seed.js";

const seed = printedSeed("storage decisions");
const KiB = 1024;
const MiB = 1024 * KiB;

describe("the offset index", () => {
  it("finds the last entry at or before an offset, and the last one older than a time", () => {
    const gaps = fc.array(
      fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 99 }), fc.integer({ min: 0, max: 5 })),
      {
        maxLength: 200,
      },
    );
    fc.assert(
      fc.property(gaps, fc.nat(2000), (steps, wanted) => {
        const index = OffsetIndex.empty();
        const entries: { offset: number; position: number; time: number }[] = [];
        let entry = { offset: 0, position: 0, time: 1 };
        for (const [offset, position, time] of steps) {
          entries.push(entry);
          index.add(entry.offset, entry.position, entry.time);
          entry = { offset: entry.offset + offset, position: entry.position + position, time: entry.time + time };
        }
        expect(index.count).toBe(entries.length);
        expect(index.floor(wanted)).toBe(entries.findLastIndex(({ offset }) => offset <= wanted));
        expect(index.lastBefore(wanted)).toBe(entries.findLastIndex(({ time }) => time < wanted));
      }),
      { seed },
    );
  });

  it("takes no entry out of order", () => {
    const index = OffsetIndex.empty();
    index.add(0, 0, 0);
    expect(() => index.add(1, 0, 0)).toThrow(/ascend/);
  });

  it("guesses how many bytes lie between an entry and an offset, as if its records were of one size", () => {
    const index = OffsetIndex.empty();
    index.add(10, 1000, 0);
    index.add(30, 5000, 0);
    expect(index.bytesAbout(-1, 5)).toBe(500);
    expect(index.bytesAbout(0, 15)).toBe(1000);
    expect(index.bytesAbout(0, 29)).toBe(3800);
    expect(index.bytesAbout(1, 31)).toBe(0);
  });
});

describe("epochs", () => {
  it("tell every reader of every epoch whether what it saw was cut, whatever was cut when", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { maxLength: 30 }), fc.nat(30), fc.nat(60), (starts, epoch, offset) => {
        const all: EpochEntry[] = starts.map((start, at) => ({ epoch: at + 1, start }));
        const kept = starts.reduce<readonly EpochEntry[]>((entries, start) => raiseEpoch(entries, start), []);
        const cuts = all.filter((entry) => entry.epoch > epoch).map(({ start }) => start);
        const lowest = Math.min(...cuts);
        expect(truncatedAt(kept, epoch, offset)).toBe(lowest < offset ? lowest : undefined);
        expect(currentEpoch(kept)).toBe(starts.length);
        expect(currentEpochStart(kept)).toBe(starts.at(-1) ?? 0);
      }),
      { seed },
    );
  });

  it("are bounded, and a reader from long ago is told rather too much than too little", () => {
    let kept: readonly EpochEntry[] = [];
    for (let start = 0; start < EPOCHS_MAX * 2; start++) kept = raiseEpoch(kept, start * 10);
    expect(kept).toHaveLength(EPOCHS_MAX);
    expect(currentEpoch(kept)).toBe(EPOCHS_MAX * 2);
    for (let epoch = 0; epoch < EPOCHS_MAX * 2; epoch++) {
      // The truth: everything from epoch * 10 on was cut after that epoch.
      expect(truncatedAt(kept, epoch, epoch * 10 + 1)).toBeLessThanOrEqual(epoch * 10);
    }
  });
});

describe("retention", () => {
  const segments = [10, 20, 30].map((age) => ({ bytes: 100, lastAppendMs: age }));

  it.each([
    ["nothing is asked for", {}, 0],
    ["the log is as large as it may be", { retentionBytes: 350 }, 0],
    ["the log is a byte too large", { retentionBytes: 349 }, 1],
    ["next to nothing may stay", { retentionBytes: 1 }, 3],
    ["the oldest is exactly as old as it may be", { retentionMs: 90 }, 0],
    ["the oldest is older", { retentionMs: 89 }, 1],
    ["two are older", { retentionMs: 79 }, 2],
    ["all are older", { retentionMs: 1 }, 3],
    ["one for its age, and then one for the size", { retentionMs: 89, retentionBytes: 200 }, 2],
  ] as const)("%s: %o", (_, policy, count) => {
    expect(retentionReasons(segments, 50, policy, 100)).toHaveLength(count);
  });

  it("goes by age and by size, and never leaves a hole", () => {
    expect(retentionReasons(segments, 50, { retentionMs: 89, retentionBytes: 200 }, 100)).toEqual(["age", "bytes"]);
    // A younger segment in front of an older one keeps it, or the log would begin behind a gap.
    const turned = [segments[2], segments[0]];
    expect(retentionReasons(turned, 50, { retentionMs: 75 }, 100)).toEqual([]);
  });
});

describe("sealing what nobody forces", () => {
  const GiB = 1024 * MiB;

  it.each([
    ["nothing was rolled", [], 0],
    [
      "all is young and little",
      [
        [1, 9_000],
        [1, 9_500],
      ],
      0,
    ],
    [
      "the oldest have waited long enough",
      [
        [1, 7_000],
        [1, 8_000],
        [1, 8_001],
      ],
      2,
    ],
    [
      "all have",
      [
        [1, 1],
        [1, 2],
      ],
      2,
    ],
    [
      "too much waits: the oldest go",
      [
        [GiB, 9_999],
        [GiB, 9_999],
        [GiB, 9_999],
      ],
      1,
    ],
    [
      "exactly as much as may wait",
      [
        [GiB, 9_999],
        [GiB, 9_999],
      ],
      0,
    ],
    ["the clock was put back", [[1, 20_000]], 1],
  ] as const)("%s", (_, rolled, count) => {
    expect(
      sealCount(
        rolled.map(([bytes, rolledMs]) => ({ bytes, rolledMs })),
        10_000,
      ),
    ).toBe(count);
  });
});

describe("the populate window", () => {
  const rate = (writtenBytes: number, unforcedBytes: number, elapsedMs = 200) => ({
    elapsedMs,
    writtenBytes,
    unforcedBytes,
  });

  it("is 0 when idle, and at once", () => {
    expect(populateWindow(64 * MiB, rate(0, 500 * MiB))).toBe(0);
  });

  it("is 0 for who forces as he writes", () => {
    expect(populateWindow(0, rate(100 * MiB, 64 * KiB))).toBe(0);
  });

  it("grows with the rate of unforced writes, a few steps at a time, to 64 MiB", () => {
    let window = 0;
    const grown: number[] = [];
    for (let tick = 0; tick < 6; tick++) {
      window = populateWindow(window, rate(1024 * MiB, 1024 * MiB));
      grown.push(window / MiB);
    }
    expect(grown).toEqual([4, 16, 64, 64, 64, 64]);
    expect(populateWindow(64 * MiB, rate(50 * MiB, 50 * MiB))).toBe(10 * MiB);
    expect(window).toBe(POPULATE_AHEAD_PARTITION_MAX);
  });

  it("is shared: what one partition has, another cannot get", () => {
    const budget = new PopulateBudget(100);
    expect(budget.change(0, 60)).toBe(60);
    expect(budget.change(0, 60)).toBe(40);
    expect(budget.granted).toBe(100);
    expect(budget.change(60, 0)).toBe(0);
    expect(budget.change(40, 100)).toBe(100);
    expect(budget.granted).toBe(100);
  });

  it("never grants more than there is, in any order of changes", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(3), fc.nat(100)), { maxLength: 50 }), (changes) => {
        const budget = new PopulateBudget(100);
        const held = [0, 0, 0, 0];
        for (const [who, wanted] of changes) {
          held[who] = budget.change(held[who], wanted);
          expect(held[who]).toBeLessThanOrEqual(wanted);
          expect(held.reduce((sum, bytes) => sum + bytes)).toBe(budget.granted);
          expect(budget.granted).toBeLessThanOrEqual(100);
        }
      }),
      { seed },
    );
  });
});

describe("the reserve window", () => {
  it("doubles with what the segment holds", () => {
    const capacity = 1024 * MiB;
    expect(reserveTarget(0, 10, capacity)).toBe(RESERVE_WINDOW_MIN);
    expect(reserveTarget(10 * MiB, 10, capacity)).toBe(20 * MiB);
    expect(reserveTarget(500 * MiB, 10, capacity)).toBe(500 * MiB + RESERVE_WINDOW_MAX);
    expect(reserveTarget(0, 5 * MiB, capacity)).toBe(5 * MiB);
  });

  it("never goes beyond the segment, and always holds what is needed", () => {
    const sizes = fc.tuple(fc.nat(1000), fc.nat(1000), fc.integer({ min: 1, max: 1000 }));
    fc.assert(
      fc.property(sizes, ([a, b, capacity]) => {
        const end = a % capacity;
        const needed = b % (capacity - end + 1);
        const target = reserveTarget(end, needed, capacity);
        expect(target).toBeGreaterThanOrEqual(end + needed);
        expect(target).toBeLessThanOrEqual(capacity);
        const trigger = reserveTrigger(end, target, capacity);
        expect(trigger).toBeGreaterThanOrEqual(end);
        expect(trigger).toBeLessThanOrEqual(capacity);
      }),
      { seed },
    );
    expect([prepareTrigger(128 * MiB, false), prepareTrigger(128 * MiB, true)]).toEqual([96 * MiB, 8 * MiB]);
  });
});

describe("what stays in memory", () => {
  const holder = (): IndexHolder => ({ index: undefined, indexTick: 0 });
  const index = (): OffsetIndex => OffsetIndex.empty();

  it("indexes: bounded by bytes, the least recently used goes first", () => {
    const cache = new IndexCache(2 * (16 * 16 + 256));
    const [a, b, c] = [holder(), holder(), holder()];
    cache.admit(a, index());
    cache.admit(b, index());
    cache.touch(a);
    cache.admit(c, index());
    expect([a, b, c].map(({ index }) => index !== undefined)).toEqual([true, false, true]);
    expect(cache.bytes).toBeLessThanOrEqual(cache.maxBytes);
    cache.forget(a);
    cache.forget(c);
    expect([cache.bytes, cache.size]).toEqual([0, 0]);
  });

  it("an index that is larger than the bound stays until the next one comes: its reader waits for it", () => {
    const cache = new IndexCache(1);
    const [a, b] = [holder(), holder()];
    cache.admit(a, index());
    expect(a.index).toBeDefined();
    cache.admit(b, index());
    expect([a.index === undefined, b.index === undefined, cache.size]).toEqual([true, false, 1]);
  });

  it("an index that the cache was never given is not the cache's to drop", () => {
    const active = { index: index(), indexTick: 0 };
    new IndexCache(1).forget(active);
    expect(active.index).toBeDefined();
  });

  it("descriptors: bounded in number, and closed when they go", () => {
    const closed: string[] = [];
    const file = (path: string) => ({ path, close: () => closed.push(path) }) as unknown as NativeFile;
    const pool = new FilePool(2);
    const holders = ["a", "b", "c"].map((): FileHolder => ({ file: undefined, fileTick: 0 }));
    pool.admit(holders[0], file("a"));
    pool.admit(holders[1], file("b"));
    pool.touch(holders[0]);
    pool.admit(holders[2], file("c"));
    expect([closed, pool.size]).toEqual([["b"], 2]);
    pool.forget(holders[0]);
    pool.forget(holders[0]);
    expect(closed).toEqual(["b", "a"]);
  });

  it("positions that were just looked up: the newest few, and never a wrong one", () => {
    const hits = new OffsetHits();
    for (let offset = 0; offset < 100; offset++) hits.add(offset, offset * 10);
    expect(hits.find(99)).toBe(990);
    expect(hits.find(84)).toBe(840);
    expect(hits.find(83)).toBe(-1);
    hits.add(99, 990);
    expect(hits.find(84)).toBe(840);
  });
});
