// The scheduler by itself: rounds, shares, the time limit, and what happens to what a run leaves behind.

import { describe, expect, it } from "vitest";
import type { AppendListener } from "../../src/log/append-listener.js";
import { PartitionWriter } from "../../src/log/partition-writer.js";
import { Scheduler } from "../../src/log/scheduler.js";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { Answers } from "./support/answers.js";
import { FakeLog, FakeTurn, settle } from "./support/fake-log.js";
import { FakeTimers } from "./support/fake-timers.js";
import { region } from "./support/regions.js";

const MiB = 1024 * 1024;

function setUp(options: { rows?: number; turnBytes?: number; queuedBytesMax?: number; now?: () => number } = {}) {
  const turn = new FakeTurn(options.rows ?? 100);
  const { turnBytes = MiB, queuedBytesMax = MiB, now = () => 0 } = options;
  const scheduler = new Scheduler({ turnBytes, queuedBytesMax }, turn, now);
  let asked = 0;
  scheduler.onWork = () => void asked++;
  const answers = new Answers();
  const writerOf = (log = new FakeLog(64 * MiB)) =>
    new PartitionWriter(log, scheduler, { visibility: "written", mailboxBytes: 64 * MiB }, new FakeTimers());
  const offer = (
    writer: PartitionWriter<FakeLog>,
    token: number,
    bytes: Uint8Array,
    ack: AckPolicy = AckPolicy.WRITTEN,
  ) => writer.offer(bytes, 0, bytes.length, 1, ack, -1, answers, token);
  return { turn, scheduler, answers, writerOf, offer, asked: () => asked };
}
const ofSize = (bytes: number) => region(["x".repeat(bytes - 4)]);

describe("rounds", () => {
  it("write the batches of all partitions by one native call", () => {
    const { turn, scheduler, answers, writerOf, offer } = setUp();
    const writers = Array.from({ length: 10 }, () => writerOf());
    for (let n = 0; n < 30; n++) offer(writers[n % 10] as PartitionWriter<FakeLog>, n, ofSize(20));
    scheduler.run();
    expect(turn.sizes).toEqual([30]);
    expect(answers.of(0)).toHaveLength(30);
    expect(writers.map((writer) => writer.logEndOffset)).toEqual(new Array(10).fill(3));
  });

  it("give a partition with much to write no more than its share while others wait", () => {
    const { turn, scheduler, answers, writerOf, offer } = setUp({ turnBytes: 256 * 1024 });
    const [greedy, modest] = [writerOf(), writerOf()];
    for (let n = 0; n < 40; n++) offer(greedy, n, ofSize(32 * 1024));
    for (let n = 100; n < 104; n++) offer(modest, n, ofSize(32 * 1024));
    scheduler.run();
    // The first round: half of the turn for each.
    expect(turn.sizes[0]).toBe(8);
    expect(answers.all.slice(0, 8).map(({ token }) => token)).toEqual([0, 1, 2, 3, 100, 101, 102, 103]);
    expect(turn.sizes.slice(1)).toEqual([8, 8, 8, 8, 4]);
    expect(answers.of(0)).toHaveLength(44);
  });

  it("take the partitions in turn when a round has not room for all", () => {
    const { scheduler, answers, writerOf, offer } = setUp({ rows: 3 });
    const writers = Array.from({ length: 5 }, () => writerOf());
    for (let n = 0; n < 10; n++) offer(writers[n % 5] as PartitionWriter<FakeLog>, n, ofSize(20));
    scheduler.run();
    // Who found no place in a round is first in the next, and who has more goes to the end.
    expect(answers.all.map(({ token }) => token)).toEqual([0, 5, 1, 2, 7, 3, 4, 9, 6, 8]);
  });

  it("write a batch that is larger than the turn's budget", () => {
    const { scheduler, answers, writerOf, offer } = setUp({ turnBytes: 100_000 });
    const writer = writerOf();
    offer(writer, 1, ofSize(10));
    offer(writer, 2, ofSize(2 * MiB));
    scheduler.run();
    expect(answers.of(0)).toEqual([1, 2]);
  });

  it("leave no partition behind that a listener offered to from inside a run", () => {
    const { scheduler, answers, writerOf } = setUp();
    const writer = writerOf();
    const bytes = ofSize(20);
    const again: AppendListener = {
      appended: (token) => {
        writer.offer(bytes, 0, bytes.length, 1, AckPolicy.WRITTEN, -1, answers, token + 1);
        scheduler.run();
      },
    };
    writer.offer(bytes, 0, bytes.length, 1, AckPolicy.WRITTEN, -1, again, 1);
    scheduler.run();
    expect(answers.all).toEqual([{ token: 2, error: 0, base: 1 }]);
  });
});

describe("a run", () => {
  it("ends after some milliseconds, keeps what is left in its own memory and asks to be called again", () => {
    let now = 0;
    const { scheduler, answers, writerOf, offer, asked } = setUp({
      turnBytes: 64 * 1024,
      queuedBytesMax: 64 * MiB,
      now: () => now++,
    });
    const writer = writerOf();
    const arena = ofSize(64 * 1024);
    for (let n = 0; n < 100; n++) offer(writer, n, arena);
    scheduler.run();
    const written = answers.all.length;
    // The clock moves a millisecond each time it is read, once in 256 KiB.
    expect(written).toBe(24);
    expect(asked()).toBe(1);
    expect(scheduler.queuedBytes).toBe(76 * 64 * 1024);
    arena.fill(0);
    while (asked() > 0 && answers.all.length < 100) {
      now = 0;
      scheduler.run();
    }
    expect(answers.of(0)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(scheduler.queuedBytes).toBe(0);
  });

  it("sees the clock also when nothing but refusals comes", () => {
    let now = 0;
    const { scheduler, answers, writerOf } = setUp({ rows: 1, now: () => now++ });
    const writer = writerOf();
    const bytes = ofSize(20);
    const stubborn: AppendListener = {
      appended: (token, error) => {
        answers.appended(token, error, -1);
        writer.offer(bytes, 0, bytes.length, 1, AckPolicy.WRITTEN, 7, stubborn, token + 1);
      },
    };
    writer.offer(bytes, 0, bytes.length, 1, AckPolicy.WRITTEN, 7, stubborn, 0);
    scheduler.run();
    expect(answers.of(ErrorCodes.OFFSET_MISMATCH).length).toBeGreaterThan(1);
  });

  it("asks once for a next one, however many partitions can go on", async () => {
    const { scheduler, writerOf, offer, asked } = setUp();
    const logs = Array.from({ length: 5 }, () => new FakeLog(1000));
    const writers = logs.map((log) => writerOf(log));
    for (const log of logs) log.fill(0);
    for (const [n, writer] of writers.entries()) offer(writer, n, ofSize(20));
    scheduler.run();
    expect(asked()).toBe(0);
    for (const log of logs) log.makingRoom?.succeed();
    await settle();
    expect(asked()).toBe(1);
  });

  it("runs by itself in the next iteration of the loop when nobody drives it", async () => {
    const scheduler = new Scheduler({ turnBytes: MiB, queuedBytesMax: MiB }, new FakeTurn(10));
    const answers = new Answers();
    const log = new FakeLog(1000);
    const policy = { visibility: "written", mailboxBytes: MiB } as const;
    const writer = new PartitionWriter(log, scheduler, policy, new FakeTimers());
    const bytes = ofSize(20);
    writer.offer(bytes, 0, bytes.length, 1, AckPolicy.WRITTEN, -1, answers, 1);
    await writer.drain();
    expect(answers.of(0)).toEqual([1]);
  });
});

describe("what waits for room", () => {
  const blocked = (queuedBytesMax: number) => {
    const all = setUp({ queuedBytesMax });
    const log = new FakeLog(64 * MiB);
    const writer = all.writerOf(log);
    log.fill(0);
    return { ...all, log, writer };
  };

  it("is kept up to the bound on queued bytes; beyond it OVERLOADED, and none passes one that was refused", async () => {
    const { scheduler, answers, offer, log, writer } = blocked(100_000);
    for (let n = 0; n < 4; n++) offer(writer, n, ofSize(30_000));
    offer(writer, 4, ofSize(20));
    scheduler.run();
    expect(answers.of(ErrorCodes.OVERLOADED)).toEqual([3, 4]);
    expect(scheduler.queuedBytes).toBe(90_000);
    // A next turn may bring something that fits.
    offer(writer, 5, ofSize(5_000));
    offer(writer, 6, ofSize(6_000));
    scheduler.run();
    expect(answers.of(ErrorCodes.OVERLOADED)).toEqual([3, 4, 6]);
    log.makingRoom?.succeed();
    await settle();
    scheduler.run();
    expect(answers.of(0)).toEqual([0, 1, 2, 5]);
    expect(scheduler.queuedBytes).toBe(0);
  });

  it("counts for all partitions together", () => {
    const { scheduler, answers, offer, log, writer, writerOf } = blocked(100_000);
    const other = new FakeLog(64 * MiB);
    other.fill(0);
    offer(writer, 1, ofSize(60_000));
    offer(writerOf(other), 2, ofSize(60_000));
    scheduler.run();
    expect(answers.of(ErrorCodes.OVERLOADED)).toEqual([2]);
    expect(log.makingRoom).toBeDefined();
  });

  it("is told LOG_FULL together, and what comes later tries again", async () => {
    const { scheduler, answers, offer, log, writer } = blocked(MiB);
    offer(writer, 1, ofSize(100));
    offer(writer, 2, ofSize(20));
    scheduler.run();
    offer(writer, 3, ofSize(20), AckPolicy.FORCED);
    scheduler.run();
    const asked: number[] = [];
    writer.onFull = (neededBytes) => void asked.push(neededBytes);
    log.refuseRoom();
    await settle();
    expect(asked).toEqual([77]);
    expect(answers.of(ErrorCodes.LOG_FULL)).toEqual([1, 2, 3]);
    offer(writer, 4, ofSize(20));
    scheduler.run();
    log.makingRoom?.succeed();
    await settle();
    scheduler.run();
    expect(answers.all.at(-1)).toEqual({ token: 4, error: 0, base: 0 });
    expect(scheduler.queuedBytes).toBe(0);
  });
});
