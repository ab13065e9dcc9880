// The payloads of a batch, one by one.

import { expect, it } from "vitest";
import { RecordBatch } from "../../src/client/record-batch.js";
import { offset, partitionId } from "../../src/model/ids.js";
import { ascii } from "../support/bytes.js";

const bytes = ascii("..abc..d").subarray(1);
const batch = new RecordBatch("orders", partitionId(0), offset(7), offset(9), bytes, Uint32Array.of(1, 4, 6, 7), 1);

it("comes apart into its payloads, again and again, which are views", () => {
  for (let round = 0; round < 2; round++) expect([...batch]).toEqual([ascii("abc"), ascii("d")]);
  for (const [index, payload] of [...batch].entries()) {
    expect(payload).toEqual(batch.at(index));
    expect(payload.buffer).toBe(bytes.buffer);
  }
});

it("iterators of one batch do not disturb each other, and one that was left brings nothing more", () => {
  const iterator = batch[Symbol.iterator]();
  for (const payload of iterator) {
    expect(payload).toEqual(ascii("abc"));
    expect([...batch]).toHaveLength(2);
    break;
  }
  expect(iterator.next()).toEqual({ done: true, value: undefined });
  expect([...iterator]).toEqual([]);
});

it("an empty batch has none", () => {
  const none = new RecordBatch("orders", partitionId(0), offset(7), offset(7), bytes, new Uint32Array(0), 1);
  expect([...none]).toEqual([]);
});

it("says in the middle of an iteration that it was released, also when other batches still hold its memory", () => {
  const released = new RecordBatch(
    "orders",
    partitionId(0),
    offset(7),
    offset(9),
    bytes,
    Uint32Array.of(1, 4, 6, 7),
    1,
  );
  const iterator = released[Symbol.iterator]();
  iterator.next();
  expect(released.isReleased).toBe(false);
  released.release();
  expect(released.isReleased).toBe(true);
  const told = "the batch at 7 of orders-0 was released, and its records with it: call release() behind the last use";
  for (const use of [() => iterator.next(), () => [...released], () => released.records, () => released.at(0)]) {
    expect(use).toThrow(expect.objectContaining({ code: "CLOSED", message: expect.stringContaining(told) }));
  }
});
