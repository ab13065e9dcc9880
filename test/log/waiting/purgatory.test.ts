// One thing at a time about waiting: when a wait ends and by what, how many are looked at, and what is counted. Real logs
// stand behind it in waited-partitions.test.ts, all of it at random in purgatory.property.test.ts.

import { describe, expect, it } from "vitest";
import { Purgatory } from "../../../src/log/waiting/purgatory.js";
import { WaitingFetch, WaitState } from "../../../src/log/waiting/waiting-fetch.js";
import { ManualTime } from "../../support/manual-time.js";
import { FakePartition, FakePartitions } from "./fake-partitions.js";

const LARGE = 1_000_000;

interface Asked {
  readonly minBytes?: number;
  readonly minRecords?: number;
  readonly maxBytes?: number;
  readonly partMaxBytes?: number;
  readonly waitMs?: number;
  readonly isolation?: 0 | 1;
}

function waiting(partitions = 1, visibility: "written" | "durable" = "written") {
  const all = Array.from({ length: partitions }, () => new FakePartition(visibility));
  const fakes = new FakePartitions(all);
  const time = new ManualTime();
  const completed: WaitingFetch[] = [];
  const purgatory = new Purgatory({
    partitions: fakes,
    now: () => time.monotonicNow(),
    timers: time,
    completed: (fetch) => completed.push(fetch),
  });
  let token = 0;
  /** A fetch from the end of the partitions named, or from the offsets given. */
  const asking = (asked: Asked = {}, offsets: Readonly<Record<number, number>> = { 0: all[0]?.end ?? 0 }) => {
    const {
      minBytes = 1,
      minRecords = 1,
      maxBytes = LARGE,
      partMaxBytes = LARGE,
      waitMs = 1000,
      isolation = 0,
    } = asked;
    const fetch = new WaitingFetch(token++, minBytes, minRecords, maxBytes, time.monotonicNow() + waitMs);
    for (const [partition, offset] of Object.entries(offsets)) {
      fakes.add(fetch, Number(partition), isolation, offset, partMaxBytes);
    }
    return fetch;
  };
  const publish = (partition: number, ...sizes: number[]) => {
    all[partition]?.append(sizes);
    purgatory.published(partition);
  };
  return { all, fakes, time, completed, purgatory, asking, publish };
}

describe("a wait", () => {
  it("F04 ends at its deadline, not before: parked and timed out", () => {
    const { purgatory, asking, time, completed } = waiting();
    const fetch = asking({ waitMs: 500 });
    expect(purgatory.park(fetch)).toBe(true);
    time.advance(499);
    expect([completed, purgatory.waiting]).toEqual([[], 1]);
    time.advance(1);
    expect(completed).toEqual([fetch]);
    expect([fetch.parked, fetch.timedOut, fetch.state]).toEqual([true, true, WaitState.DONE]);
    expect([purgatory.parkedTotal, purgatory.expiredTotal, purgatory.wokenTotal]).toEqual([1, 1, 0]);
  });

  it("F05 does not begin when the records are there: not parked, not timed out", () => {
    const { purgatory, asking, all, completed } = waiting();
    all[0]?.append([20]);
    const fetch = asking({}, { 0: 0 });
    expect(purgatory.park(fetch)).toBe(false);
    expect([fetch.parked, fetch.timedOut, completed.length, purgatory.parkedTotal]).toEqual([false, false, 0, 0]);
  });

  it("is over without having begun when its deadline has passed: not parked, but timed out", () => {
    const { purgatory, asking } = waiting();
    const fetch = asking({ waitMs: 0 });
    expect(purgatory.park(fetch)).toBe(false);
    expect([fetch.parked, fetch.timedOut, purgatory.expiredTotal]).toEqual([false, true, 0]);
  });

  it("F06 ends with the publish that brings enough: parked, not timed out", () => {
    const { purgatory, asking, publish, time, completed } = waiting();
    const fetch = asking({ minRecords: 2 });
    purgatory.park(fetch);
    time.advance(300);
    publish(0, 50);
    expect(completed).toEqual([]);
    publish(0, 9);
    expect([completed, fetch.parked, fetch.timedOut, purgatory.wokenTotal]).toEqual([[fetch], true, false, 1]);
    time.advance(10_000);
    expect([completed.length, purgatory.expiredTotal, time.armed]).toEqual([1, 0, 0]);
  });

  it("F07 keeps its deadline however often something comes that is too little", () => {
    const { purgatory, asking, publish, time, completed } = waiting();
    purgatory.park(asking({ minBytes: 100_000, waitMs: 505 }));
    for (let ms = 0; ms < 500; ms += 10) {
      time.advance(10);
      publish(0, 9);
    }
    expect(completed).toEqual([]);
    time.advance(5);
    expect([completed.length, time.monotonicNow()]).toEqual([1, 505]);
  });

  it("F08 is looked at by a publish wherever it waits from: all who have enough now, and nobody twice", () => {
    const { purgatory, all, asking, publish, completed, time } = waiting();
    all[0]?.append([10, 10, 10]);
    const fetches = [3, 2, 1].map((offset) => asking({ minBytes: 35 - 10 * offset + 5 }, { 0: offset }));
    const longer = asking({ minBytes: 1000 });
    for (const fetch of [...fetches, longer]) expect(purgatory.park(fetch)).toBe(true);
    publish(0, 10);
    expect(new Set(completed)).toEqual(new Set(fetches));
    publish(0, 2000);
    expect(completed).toHaveLength(4);
    time.advance(10_000);
    expect(completed).toHaveLength(4);
  });

  it("F01 of a consumer ends when the records are durable, of a follower when they are written", () => {
    const { purgatory, all, asking, completed } = waiting(1, "durable");
    const consumer = asking();
    const follower = asking({ isolation: 1 });
    purgatory.park(consumer);
    purgatory.park(follower);
    all[0]?.append([20]);
    purgatory.published(0);
    expect(completed).toEqual([follower]);
    (all[0] as FakePartition).durable = 1;
    purgatory.published(0);
    expect(completed).toEqual([follower, consumer]);
  });

  it("from an offset that is written and not durable counts from there, and from nothing before it", () => {
    const { purgatory, all, asking, completed } = waiting(1, "durable");
    const [partition] = all as [FakePartition];
    partition.append([20, 20, 20]);
    const fetch = asking({ minBytes: 21 }, { 0: 1 });
    expect(purgatory.park(fetch)).toBe(true);
    for (const durable of [1, 2]) {
      partition.durable = durable;
      purgatory.published(0);
      expect(completed).toEqual([]);
    }
    partition.durable = 3;
    purgatory.published(0);
    expect(completed).toEqual([fetch]);
  });

  it("F10 sums bytes and records over its partitions, and both must be enough", () => {
    const { purgatory, asking, publish, completed } = waiting(3);
    purgatory.park(asking({ minBytes: 100, minRecords: 5 }, { 0: 0, 1: 0, 2: 0 }));
    publish(0, 40);
    publish(1, 40);
    publish(2, 19);
    expect(completed).toHaveLength(0);
    publish(2, 9);
    expect(completed).toHaveLength(0);
    publish(1, 9);
    expect(completed).toHaveLength(1);
  });

  it.each([
    ["a partition reaches its own most", { partMaxBytes: 50 }, 50],
    ["all together reach the most", { maxBytes: 60 }, 60],
  ])("ends also when %s, though it asked for more", (_, bound, bytes) => {
    const { purgatory, asking, publish, completed } = waiting(2);
    purgatory.park(asking({ minBytes: 60, minRecords: 99, ...bound }, { 0: 0, 1: 0 }));
    publish(0, bytes - 1);
    expect(completed).toHaveLength(0);
    publish(0, 9);
    expect(completed).toHaveLength(1);
  });

  it("F15 ends with a roll that leaves its offset in an older segment, and stays when there is nothing to read in it yet", () => {
    const { purgatory, all, asking, completed } = waiting(1, "durable");
    const [partition] = all as [FakePartition];
    partition.append([20]);
    partition.durable = 1;
    const behind = asking({ minRecords: 9 }, { 0: 0 });
    const atEnd = asking({ minRecords: 9 }, { 0: 1 });
    purgatory.park(behind);
    purgatory.park(atEnd);
    partition.append([20]);
    partition.roll();
    purgatory.recheck(0);
    expect(completed).toEqual([behind]);
    partition.durable = 2;
    purgatory.published(0);
    purgatory.recheck(0);
    expect(completed).toEqual([behind, atEnd]);
  });

  it("F15 ends when retention takes its offset", () => {
    const { purgatory, all, asking, completed } = waiting();
    const [partition] = all as [FakePartition];
    partition.append([20, 20]);
    purgatory.park(asking({ minRecords: 9 }, { 0: 1 }));
    partition.roll();
    partition.retain();
    purgatory.recheck(0);
    expect(completed).toHaveLength(1);
  });

  it("ends when its partition is poisoned", () => {
    const { purgatory, all, asking, completed } = waiting(2);
    purgatory.park(asking({}, { 0: 0, 1: 0 }));
    purgatory.park(asking({}, { 0: 0 }));
    (all[1] as FakePartition).poisoned = true;
    purgatory.recheck(1);
    expect(completed).toHaveLength(1);
  });

  it("that nobody waits for any more ends without a word, and does no harm when it ended already", () => {
    const { purgatory, asking, publish, time, completed } = waiting();
    const [gone, stays] = [asking(), asking()];
    purgatory.park(gone);
    purgatory.park(stays);
    purgatory.cancel(gone);
    purgatory.cancel(gone);
    publish(0, 10);
    expect(completed).toEqual([stays]);
    purgatory.cancel(stays);
    time.advance(10_000);
    expect([completed, purgatory.waiting, purgatory.expiredTotal]).toEqual([[stays], 0, 0]);
  });

  it("F16 ends when all are let go, and none begins after that", () => {
    const { purgatory, asking, time, completed, publish } = waiting(2);
    const fetches = [asking(), asking({}, { 0: 0, 1: 0 }), asking({ isolation: 1 })];
    for (const fetch of fetches) purgatory.park(fetch);
    purgatory.releaseAll();
    expect(new Set(completed)).toEqual(new Set(fetches));
    expect(fetches.map(({ timedOut }) => timedOut)).toEqual([false, false, false]);
    const late = asking();
    expect([purgatory.park(late), late.timedOut, purgatory.waiting, time.armed]).toEqual([false, false, 0, 0]);
    publish(0, 10);
    expect(completed).toHaveLength(3);
  });

  it("is begun once", () => {
    const { purgatory, asking } = waiting();
    const fetch = asking();
    purgatory.park(fetch);
    expect(() => purgatory.park(fetch)).toThrow("invariant broken");
  });
});

describe("what a publish costs", () => {
  it("is nothing for those who still lack something, however many there are", () => {
    const { purgatory, asking, publish, fakes, completed } = waiting();
    for (let i = 0; i < 1000; i++) purgatory.park(asking({ minBytes: 1000 + i }));
    fakes.looks.length = 0;
    for (let i = 0; i < 9; i++) publish(0, 100);
    expect(fakes.looks).toHaveLength(0);
    publish(0, 349);
    // 1249 bytes are there now.
    expect(completed.map(({ minBytes }) => minBytes)).toEqual(Array.from({ length: 250 }, (_, i) => 1000 + i));
    expect(fakes.looks).toHaveLength(250);
  });

  it("is nothing for those who wait on other partitions, or for what is not durable yet", () => {
    const { purgatory, asking, publish, fakes } = waiting(2, "durable");
    for (let i = 0; i < 100; i++) purgatory.park(asking({}, { [i % 2]: 0 }));
    fakes.looks.length = 0;
    publish(0, 100);
    expect(fakes.looks).toHaveLength(0);
    (fakes.all[0] as FakePartition).durable = 1;
    purgatory.published(0);
    expect(fakes.looks).toHaveLength(50);
  });

  it("is a few looks in all for a fetch of many partitions that fill slowly", () => {
    const { purgatory, asking, publish, fakes, completed } = waiting(10);
    purgatory.park(asking({ minBytes: 100_000 }, Object.fromEntries(fakes.all.map((_, i) => [i, 0]))));
    fakes.looks.length = 0;
    let publishes = 0;
    for (; completed.length === 0; publishes++) publish(publishes % 10, 20);
    expect(publishes).toBe(5000);
    // Each look leaves at most nine tenths of what was lacking.
    const looks = fakes.looks.length / 10;
    expect(looks).toBeLessThan(Math.log(100_000) / -Math.log(0.9) + 1);
  });

  it("is one timer for all deadlines, and none that moves with them", () => {
    const { purgatory, asking, publish, time, completed } = waiting();
    for (let i = 0; i < 1000; i++) {
      purgatory.park(asking({ waitMs: 500 + i }));
      expect(time.armed).toBe(1);
      publish(0, 10);
      time.advance(0.01);
    }
    expect(completed).toHaveLength(1000);
    time.advance(2000);
    expect(time.armed).toBe(0);
  });
});
