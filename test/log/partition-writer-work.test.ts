// The writer beside work that takes its time, on a storage whose slow parts end when the test says so: a batch over several
// segments, upkeep, closing.

import { describe, expect, it } from "vitest";
import { PartitionWriter } from "../../src/log/partition-writer.js";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { SEAL_AFTER_MS, UPKEEP_INTERVAL_MS, UPKEEP_QUIET_TICKS } from "../../src/model/limits.js";
import { FakeLog, settle } from "./support/fake-log.js";
import { FakeTimers } from "./support/fake-timers.js";
import { setUp } from "./support/played-writer.js";
import { region } from "./support/regions.js";

describe("a batch larger than a segment", () => {
  it("is written by a worker from the writer's own memory; what came behind it comes after it", async () => {
    const { log, scheduler, answers, offer } = setUp({}, new FakeLog(200));
    const large = ["x".repeat(150), "y".repeat(150)];
    offer(1, large);
    offer(2, ["small"], AckPolicy.FORCED);
    scheduler.run();
    expect(answers.all).toEqual([]);
    log.spanning?.succeed();
    await settle();
    scheduler.run();
    log.barrier?.succeed();
    await settle();
    expect(answers.of(0)).toEqual([1, 2]);
    expect(log.payloads).toEqual([...large, "small"]);
    expect(scheduler.queuedBytes).toBe(0);
  });

  it("lets nothing that comes in the same run pass what was refused in it", () => {
    const { log, scheduler, writer, answers, offer } = setUp({ mailboxBytes: 500 }, new FakeLog(200));
    const other = new PartitionWriter(
      new FakeLog(10_000),
      scheduler,
      { visibility: "written", mailboxBytes: 500 },
      new FakeTimers(),
    );
    offer(1, ["x".repeat(150), "y".repeat(150)]);
    offer(2, ["z".repeat(200)]);
    expect(answers.of(ErrorCodes.OVERLOADED)).toEqual([2]);
    // Answered in the run, when the worker has its batch already.
    const bytes = region(["small"]);
    const appended = (): void => {
      expect(log.spanning).toBeDefined();
      offer(3, ["small"]);
    };
    other.offer(bytes, 0, bytes.length, 1, AckPolicy.WRITTEN, -1, { appended }, 0);
    scheduler.run();
    expect(answers.of(ErrorCodes.OVERLOADED)).toEqual([2, 3]);
    offer(4, ["small"]);
    expect(writer.waitingBytes).toBeGreaterThan(300);
    expect(answers.of(ErrorCodes.OVERLOADED)).toEqual([2, 3]);
  });

  it("is OVERLOADED when there is no memory for it, and the partition goes on", async () => {
    const { log, scheduler, answers, append, writer } = setUp({ mailboxBytes: 1_000_000 }, new FakeLog(200));
    const bytes = region(["x".repeat(120_000)]);
    writer.offer(bytes, 0, bytes.length, 1, AckPolicy.WRITTEN, -1, answers, 1);
    scheduler.run();
    expect(answers.of(ErrorCodes.OVERLOADED)).toEqual([1]);
    append(2);
    expect(answers.of(0)).toEqual([2]);
    expect(log.spanning).toBeUndefined();
  });
});

describe("upkeep", () => {
  it("comes while there is writing and a little longer, and then the partition costs no timer", async () => {
    const { timers, append } = setUp();
    expect(timers.pending).toBe(0);
    append(0);
    for (let tick = 0; tick < UPKEEP_QUIET_TICKS; tick++) {
      expect(timers.pending).toBe(1);
      timers.advance(UPKEEP_INTERVAL_MS);
      await settle();
    }
    expect(timers.pending).toBe(0);
    append(1);
    expect(timers.pending).toBe(1);
  });

  it("looks again after the time at which a segment is rolled by age", async () => {
    const { timers, append } = setUp({ segmentRollMs: 60_000 });
    append(0);
    for (let tick = 0; tick < 100; tick++) {
      timers.advance(UPKEEP_INTERVAL_MS);
      await settle();
    }
    expect(timers.pending).toBe(1);
    timers.advance(UPKEEP_INTERVAL_MS);
    expect(timers.pending).toBe(1);
  });

  it("goes on after a roll by age for as long as it takes until the old segment is sealed", async () => {
    const { log, timers, append } = setUp({ segmentRollMs: 60_000 });
    append(0);
    const tick = async (ms: number): Promise<void> => {
      timers.advance(ms);
      await settle();
    };
    for (let i = 0; i < UPKEEP_QUIET_TICKS; i++) await tick(UPKEEP_INTERVAL_MS);
    log.isOld = true;
    const before = log.upkeeps;
    await tick(60_000);
    expect([log.upkeeps, log.activeBaseOffset]).toEqual([before + 1, 1]);
    for (let i = 0; i < UPKEEP_QUIET_TICKS; i++) await tick(UPKEEP_INTERVAL_MS);
    expect(log.upkeeps).toBe(before + 1 + UPKEEP_QUIET_TICKS);
    expect(UPKEEP_QUIET_TICKS * UPKEEP_INTERVAL_MS).toBeGreaterThan(SEAL_AFTER_MS);
    await tick(UPKEEP_INTERVAL_MS);
    expect(log.upkeeps).toBe(before + 1 + UPKEEP_QUIET_TICKS);
  });

  it("at once when the storage asks for it, and room is made only when it is done", async () => {
    const { log, scheduler, answers, append } = setUp({}, new FakeLog(10_000, { slowUpkeep: true }));
    log.needsUpkeep = true;
    append(0);
    expect(log.upkeeping).toBeDefined();
    append(1);
    log.fill(0);
    append(2);
    expect(log.makingRoom).toBeUndefined();
    log.upkeeping?.succeed();
    await settle();
    scheduler.run();
    log.makingRoom?.succeed();
    await settle();
    scheduler.run();
    expect(answers.of(0)).toEqual([0, 1, 2]);
    expect(log.broken).toEqual([]);
  });

  it("that finds the storage poisoned tells everybody", async () => {
    const { log, answers, append } = setUp({}, new FakeLog(10_000, { slowUpkeep: true }));
    log.needsUpkeep = true;
    append(0, AckPolicy.FORCED);
    log.fail("upkeeping");
    await settle();
    expect(answers.of(ErrorCodes.STORAGE_FAILURE)).toEqual([0]);
  });
});

describe("closing", () => {
  it("refuses what comes, writes and forces what was offered, and closes the log once", async () => {
    const { log, scheduler, writer, answers, append, offer } = setUp();
    append(0, AckPolicy.FORCED);
    log.fill(0);
    append(1, AckPolicy.FORCED);
    const closing = writer.close();
    expect(writer.close()).toBe(closing);
    offer(2, ["late"]);
    expect(answers.of(ErrorCodes.SHUTTING_DOWN)).toEqual([2]);
    log.barrier?.succeed();
    log.makingRoom?.succeed();
    await settle();
    scheduler.run();
    await settle();
    log.barrier?.succeed();
    await closing;
    expect(answers.of(0)).toEqual([0, 1]);
    expect(log.payloads).toEqual(["record 0", "record 1"]);
    expect(log.closed).toBe(true);
    await expect(writer.force()).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("waits for a batch that a worker is writing, also when everybody was told of a failure meanwhile", async () => {
    const { log, scheduler, writer, answers, append, offer } = setUp({}, new FakeLog(200));
    append(0, AckPolicy.FORCED);
    offer(1, ["x".repeat(300)]);
    scheduler.run();
    log.fail("barrier");
    await settle();
    expect(answers.of(ErrorCodes.STORAGE_FAILURE)).toEqual([0, 1]);
    const closing = writer.close();
    await settle();
    expect(log.closed).toBe(false);
    log.spanning?.succeed();
    await closing;
    expect(log.broken).toEqual([]);
    expect(answers.all).toHaveLength(2);
  });
});
