// A position and what an answer with very many records does to it.

import { describe, expect, it, vi } from "vitest";
import type { ReadPosition } from "../../src/client/read-position.js";
import { offset, partitionId } from "../../src/model/ids.js";
import { native } from "../../src/native/binding.js";
import { storedRecords } from "../support/stored-records.js";

const RECORDS = 5000;
const payloads = Array.from({ length: RECORDS }, (_, i) => Uint8Array.of(i & 0xff, i >> 8));
const payload = storedRecords("crc32c", payloads);
const fetched = { highWatermark: offset(RECORDS + 7), epoch: 1, payload };

/** In a module graph of its own, so that each has its own walker. */
async function positionWith(walker: "native" | "javascript"): Promise<ReadPosition> {
  vi.resetModules();
  const verification = await import("../../src/client/verification.js");
  const { nativeWalker } = await import("../../src/native-walker.js");
  verification.offerWalker(async () => (walker === "native" ? nativeWalker(native) : undefined));
  expect(await verification.verification()).toBe(walker);
  const { ReadPosition } = await import("../../src/client/read-position.js");
  const places = {
    logStartOffset: offset(0),
    logEndOffset: offset(RECORDS),
    epochStart: offset(0),
    durableOffset: offset(RECORDS),
  };
  const metadata = { partition: partitionId(0), epoch: 1, highWatermark: offset(RECORDS), ...places };
  return new ReadPosition("orders", "crc32c", metadata, offset(0), 1, {});
}

describe.each(["native", "javascript"] as const)("with the walk in %s code", (walker) => {
  it("an answer with more records than there is room for at first is given whole", async () => {
    const position = await positionWith(walker);
    for (let round = 0; round < 2; round++) {
      const batch = position.take(offset(round * RECORDS), 1 << 20, fetched);
      expect(batch?.length).toBe(RECORDS);
      expect(batch?.records).toEqual(payloads);
    }
    expect(position.next).toBe(2 * RECORDS);
  });

  it.each([0, 1, 1023, 1024, 1025, 2048, RECORDS - 1, RECORDS])(
    "a reading that ends at %i gives no record more",
    async (until) => {
      const position = await positionWith(walker);
      position.endAt(offset(until), 1);
      const batch = position.take(offset(0), 1 << 20, fetched);
      expect(batch?.records).toEqual(payloads.slice(0, until));
      expect(position.next).toBe(until);
      expect(position.isDone).toBe(true);
    },
  );

  it("P10 a wrong record far behind is where the next answer begins, and that one says so", async () => {
    const position = await positionWith(walker);
    const wrong = payload.slice();
    wrong[3000 * 10 + 9] ^= 0x10;
    expect(position.take(offset(0), 1 << 20, { ...fetched, payload: wrong })?.length).toBe(3000);
    const rest = { ...fetched, payload: wrong.subarray(3000 * 10) };
    expect(() => position.take(offset(3000), 1 << 20, rest)).toThrow("checksum does not match");
    expect(position.next).toBe(3000);
  });
});
