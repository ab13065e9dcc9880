// The writer on a storage whose slow parts end when the test says so: what cannot be timed on a real disk. What can be is
// in the other files of this directory, on real files.

import { describe, expect, it } from "vitest";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { settle } from "./support/fake-log.js";
import { setUp } from "./support/played-writer.js";
import { region } from "./support/regions.js";

describe("group commit", () => {
  it("forces once for everybody of a run, and once more for everybody who came during the barrier", async () => {
    const { log, scheduler, answers, offer } = setUp();
    for (let n = 0; n < 5; n++) offer(n, ["x"], AckPolicy.FORCED);
    scheduler.run();
    expect(log.barriers).toBe(1);
    for (let n = 5; n < 50; n++) {
      offer(n, ["x"], AckPolicy.FORCED);
      scheduler.run();
    }
    expect(answers.all).toEqual([]);
    log.barrier?.succeed();
    await settle();
    expect(answers.of(0)).toEqual([0, 1, 2, 3, 4]);
    expect(log.barriers).toBe(2);
    log.barrier?.succeed();
    await settle();
    expect(answers.of(0)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect(log.barriers).toBe(2);
  });

  it("O07 a barrier that fails tells everybody who waits, those who came during it included, and ends all writing", async () => {
    const { log, scheduler, writer, answers, append, offer, published } = setUp();
    append(0, AckPolicy.FORCED);
    log.barrier?.succeed();
    await settle();
    append(1, AckPolicy.FORCED);
    append(2, AckPolicy.FORCED);
    append(3, AckPolicy.WRITTEN);
    log.fill(0);
    append(4);
    expect(writer.highWatermark).toBe(4);
    const before = published();
    log.fail("barrier");
    await settle();
    expect(answers.of(ErrorCodes.STORAGE_FAILURE)).toEqual([1, 2, 4]);
    expect(answers.of(0)).toEqual([0, 3]);
    expect(writer.poisoned).toBe(true);
    // Readers are woken and go on up to what is durable.
    expect(published()).toBeGreaterThan(before);
    expect(writer.highWatermark).toBe(1);
    // Nothing more is tried: neither a write nor the barrier again.
    log.makingRoom?.succeed();
    await settle();
    offer(5, ["x"], AckPolicy.WRITTEN);
    offer(6, ["x"], AckPolicy.FORCED);
    scheduler.run();
    await settle();
    expect(answers.of(ErrorCodes.STORAGE_FAILURE)).toEqual([1, 2, 4, 5, 6]);
    expect(log.barriers).toBe(2);
    await expect(writer.force()).rejects.toMatchObject({ code: "STORAGE_FAILURE" });
    await writer.close();
    expect(log.closed).toBe(true);
  });

  it("a write that fails refuses that batch and all behind it, and those who wait for a barrier", async () => {
    const { log, writer, answers, append } = setUp();
    append(0, AckPolicy.FORCED);
    log.writesFail = true;
    append(1);
    expect(answers.of(ErrorCodes.STORAGE_FAILURE)).toEqual([1, 0]);
    append(2);
    expect(answers.of(ErrorCodes.STORAGE_FAILURE)).toEqual([1, 0, 2]);
    expect(log.payloads).toEqual(["record 0"]);
    log.fail("barrier");
    await settle();
    expect(writer.highWatermark).toBe(0);
  });

  it("force resolves when all that was offered before is forced, also what still waits for room", async () => {
    const { log, scheduler, writer, append } = setUp();
    append(0);
    log.fill(0);
    append(1);
    let forced = -1;
    void writer.force().then((durable) => {
      forced = durable;
    });
    log.makingRoom?.succeed();
    await settle();
    expect(forced).toBe(-1);
    scheduler.run();
    await settle();
    log.barrier?.succeed();
    await settle();
    expect(forced).toBe(2);
    expect(await writer.force()).toBe(2);
    expect(log.barriers).toBe(1);
  });
});

describe("visibility", () => {
  it("written: a consumer may read what is written, and no barrier is asked for", () => {
    const { log, writer, append } = setUp();
    append(0);
    expect([writer.logEndOffset, writer.highWatermark, writer.durableOffset]).toEqual([1, 1, 0]);
    expect(log.barriers).toBe(0);
  });

  it("durable: every publish asks for a barrier, and consumers hear of it when that has ended", async () => {
    const { log, writer, append, published } = setUp({ visibility: "durable" });
    append(0);
    append(1);
    expect([writer.logEndOffset, writer.highWatermark]).toEqual([2, 0]);
    expect(log.barriers).toBe(1);
    const before = published();
    log.barrier?.succeed();
    await settle();
    expect(writer.highWatermark).toBe(1);
    expect(published()).toBe(before + 1);
    log.barrier?.succeed();
    await settle();
    expect(writer.highWatermark).toBe(2);
    expect(log.barriers).toBe(2);
  });
});

describe("flush policy", () => {
  it("every.records asks for a barrier when so many were written since the last one began", async () => {
    const { log, append } = setUp({ flushEveryRecords: 3 });
    append(0);
    append(1);
    expect(log.barriers).toBe(0);
    append(2);
    expect(log.barriers).toBe(1);
    append(3);
    append(4);
    log.barrier?.succeed();
    await settle();
    expect(log.barriers).toBe(1);
    append(5);
    expect(log.barriers).toBe(2);
  });

  it("every.ms forces a written record within that time, and an idle partition never", async () => {
    const { log, timers, append } = setUp({ flushEveryMs: 50 });
    timers.advance(1000);
    expect(log.barriers).toBe(0);
    append(0);
    timers.advance(49);
    expect(log.barriers).toBe(0);
    timers.advance(1);
    expect(log.barriers).toBe(1);
    // Written during the barrier: covered by the next one, not by this.
    append(1);
    log.barrier?.succeed();
    await settle();
    timers.advance(50);
    expect(log.barriers).toBe(2);
    log.barrier?.succeed();
    await settle();
    timers.advance(1000);
    expect(log.barriers).toBe(2);
    expect(log.durableOffset).toBe(2);
  });

  it("every.ms makes no barrier where another one came first", async () => {
    const { log, timers, append } = setUp({ flushEveryMs: 50 });
    append(0, AckPolicy.FORCED);
    log.barrier?.succeed();
    await settle();
    timers.advance(50);
    expect(log.barriers).toBe(1);
  });
});

describe("expected offsets", () => {
  it("P11 of two writers that expect the same offset one succeeds, and nothing of the other's batch is there", () => {
    const { log, scheduler, answers, offer } = setUp();
    offer(1, ["a", "b"], AckPolicy.WRITTEN, 0);
    offer(2, ["c", "d"], AckPolicy.WRITTEN, 0);
    offer(3, ["e"], AckPolicy.WRITTEN, 2);
    scheduler.run();
    expect(answers.of(0)).toEqual([1, 3]);
    expect(answers.of(ErrorCodes.OFFSET_MISMATCH)).toEqual([2]);
    expect(log.payloads).toEqual(["a", "b", "e"]);
  });

  it("P11 a batch whose answer was lost is repeated and is there once", () => {
    const { log, scheduler, answers, offer } = setUp();
    for (let attempt = 0; attempt < 3; attempt++) {
      offer(attempt, ["a", "b"], AckPolicy.FORCED, 0);
      scheduler.run();
    }
    expect(answers.of(ErrorCodes.OFFSET_MISMATCH)).toEqual([1, 2]);
    expect(log.payloads).toEqual(["a", "b"]);
  });

  it("P11 it is compared when the batch is about to be written: a corrupt one before it takes no offsets", () => {
    const { log, scheduler, writer, answers, offer } = setUp();
    offer(1, ["a"]);
    const corrupt = region(["b"]);
    corrupt[3] = 77;
    writer.offer(corrupt, 0, corrupt.length, 1, AckPolicy.WRITTEN, -1, answers, 2);
    offer(3, ["c"], AckPolicy.WRITTEN, 2);
    offer(4, ["d"], AckPolicy.WRITTEN, 1);
    scheduler.run();
    expect(answers.of(0)).toEqual([1, 4]);
    expect(answers.of(ErrorCodes.CORRUPT_REQUEST)).toEqual([2]);
    expect(answers.of(ErrorCodes.OFFSET_MISMATCH)).toEqual([3]);
    expect(log.payloads).toEqual(["a", "d"]);
  });
});
