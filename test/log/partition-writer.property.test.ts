// Random interleavings of everything that can happen to a writer: offers, runs, barriers that end or fail, room that is made
// or refused, spanning batches, upkeep, close. Whatever the order: each batch is answered once, what was accepted lies in the
// log in the order of the offers and without gaps, and nobody is told more than is true.

import fc from "fast-check";
import { expect, it } from "vitest";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { printedSeed } from "../support/seed.js";
import { settle } from "./support/fake-log.js";
import { type Batch, type Step, WriterPlay } from "./support/writer-play.js";

const offer = fc.record({
  do: fc.constant("offer" as const),
  records: fc.integer({ min: 1, max: 5 }),
  size: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 40 }) }, fc.integer({ min: 100, max: 300 })),
  ack: fc.constantFrom(AckPolicy.NONE, AckPolicy.WRITTEN, AckPolicy.FORCED),
  expect: fc.oneof(
    { weight: 6, arbitrary: fc.constant("any" as const) },
    { weight: 1, arbitrary: fc.constantFrom("end" as const, "wrong" as const) },
  ),
  corrupt: fc.oneof({ weight: 15, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
const simple = (...names: Exclude<Step["do"], "offer">[]): fc.Arbitrary<Step> =>
  fc.constantFrom(...names).map((name) => ({ do: name }));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 60, arbitrary: offer },
  { weight: 28, arbitrary: simple("run") },
  { weight: 8, arbitrary: simple("barrier") },
  { weight: 9, arbitrary: simple("room", "noRoom", "span") },
  { weight: 20, arbitrary: simple("full", "needsUpkeep") },
  { weight: 10, arbitrary: simple("upkeep", "time", "force") },
  { weight: 1, arbitrary: simple("barrierFails", "roomFails", "spanFails", "upkeepFails", "writesFail", "close") },
);

const refusedAs = (batches: readonly Batch[], error: number) => batches.filter((batch) => batch.error === error);

function checkEnd(play: WriterPlay): void {
  const { batches, log, writer } = play;
  const accepted = refusedAs(batches, ErrorCodes.NONE);
  expect(log.broken, "what the storage asks of its writer").toEqual([]);
  for (const batch of batches) expect(batch.error, "every batch is answered").toBeDefined();
  expect(play.forcesSettled).toBe(play.forces);
  expect(play.scheduler.queuedBytes).toBe(0);
  if (!writer.poisoned) expect(play.published).toBe(log.payloads.length);

  // In order, and nothing in the log but what was offered: accepted batches, and such as nobody knows the end of.
  let next = 0;
  for (const batch of accepted) {
    expect(batch.base).toBeGreaterThanOrEqual(next);
    next = batch.base + batch.payloads.length;
  }
  const unknown = new Set(refusedAs(batches, ErrorCodes.STORAGE_FAILURE).flatMap((batch) => batch.payloads));
  const known = new Set(accepted.flatMap((batch) => batch.payloads));
  for (const payload of log.payloads) expect(known.has(payload) || unknown.has(payload)).toBe(true);
  if (!writer.poisoned) expect(log.payloads).toEqual(accepted.flatMap((batch) => batch.payloads));

  // Nobody passes whom the same want refused.
  for (const refused of refusedAs(batches, ErrorCodes.LOG_FULL)) {
    const behind = batches.filter((b) => b.offeredAt > refused.offeredAt && b.offeredAt < refused.answeredAt);
    for (const batch of behind) expect(batch.error).not.toBe(ErrorCodes.NONE);
  }
  for (const refused of refusedAs(batches, ErrorCodes.OVERLOADED)) {
    const behind = batches.filter((b) => b.offeredAt > refused.offeredAt && b.turn === refused.turn);
    for (const batch of behind) expect(batch.error).not.toBe(ErrorCodes.NONE);
  }
  // After a failure nothing succeeds.
  const failedAt = Math.min(...refusedAs(batches, ErrorCodes.STORAGE_FAILURE).map((batch) => batch.answeredAt));
  for (const batch of accepted) expect(batch.answeredAt).toBeLessThan(failedAt);
}

it("whatever happens in whatever order, every batch is answered once, in order, without gaps and truthfully", async () => {
  const seen = new Set<number>();
  const seed = printedSeed("partition writer");
  const plays = fc.record({
    visibility: fc.constantFrom("written" as const, "durable" as const),
    slowUpkeep: fc.boolean(),
    steps: fc.array(step, { minLength: 1, maxLength: 120 }),
  });
  const property = fc.asyncProperty(plays, async ({ visibility, slowUpkeep, steps }) => {
    const play = new WriterPlay(visibility, slowUpkeep);
    for (const each of steps) await play.play(each);
    await play.finish();
    checkEnd(play);
    play.close();
    await play.finish();
    await settle();
    expect(play.log.closed).toBe(true);
    await play.closing;
    for (const { error } of play.batches) seen.add(error as number);
  });
  await fc.assert(property, { seed, numRuns: 1500 });
  // The steps above would prove little if they never led to some of the ends.
  const { NONE, CORRUPT_REQUEST, STORAGE_FAILURE, LOG_FULL, OVERLOADED, SHUTTING_DOWN, OFFSET_MISMATCH } = ErrorCodes;
  const ends = [NONE, CORRUPT_REQUEST, STORAGE_FAILURE, LOG_FULL, OVERLOADED, SHUTTING_DOWN, OFFSET_MISMATCH];
  expect([...seen]).toEqual(expect.arrayContaining(ends));
}, 120_000);
