// What the witnesses of a broker under load hold against it, and what not: one that cries wolf is soon not believed.

import { describe, expect, it } from "vitest";
import { Random } from "../../faults/lib/random.js";
import { Ledger } from "../../faults/lib/witness/ledger.js";
import { Load, type Loaded } from "../../faults/lib/witness/load.js";
import { type ErrorCode, ErrorCodes } from "../../src/model/error-codes.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { errorAnswer, FakeBroker } from "../support/fake-broker.js";

/** A reader to whom retention was quicker, or so the broker says; what it says of the log then is `metadata`. */
async function readBehindRetention(metadata: ErrorCode | undefined): Promise<Loaded> {
  let told = 0;
  const broker = await FakeBroker.start({
    intercept: ({ kind, correlationId, socket, answer }) => {
      if (kind === RequestKind.FETCH_V2)
        return socket.write(errorAnswer(correlationId, ErrorCodes.OFFSET_OUT_OF_RANGE));
      if (kind === RequestKind.METADATA_V2) {
        told++;
        if (metadata === undefined) return socket.write(answer ?? "");
      }
      return socket.write(errorAnswer(correlationId, metadata ?? ErrorCodes.SHUTTING_DOWN));
    },
  });
  const at = {
    topic: "orders",
    partition: 0,
    format: "crc32c",
    durable: false,
    recordBytes: 100,
    largeTimes: 1,
  } as const;
  const options = { window: 1, batch: 1, forcedShare: 1 };
  const load = Load.start(Number(broker.address.split(":")[1]), [new Ledger(at, 1)], options, new Random(1));
  // Who listens asks, too, and again and again.
  await expect.poll(() => told).toBeGreaterThan(2);
  return load.drain();
}

describe("a reader of a broker under load", () => {
  it("does not hold against it that it stops before it says where the log begins now", async () => {
    expect((await readBehindRetention(ErrorCodes.SHUTTING_DOWN)).wrong).toEqual([]);
  });

  it("holds against it that an offset is out of range which the log still has", async () => {
    const { wrong } = await readBehindRetention(undefined);
    expect(wrong).toEqual([expect.stringContaining("orders-0: FETCH at 0 was answered 2")]);
  });
});
