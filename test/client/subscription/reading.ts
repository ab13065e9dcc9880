// What tests of subscriptions have in common: a client of a played broker, and what was read as text.

import { onTestFinished } from "vitest";
import { Client, type ClientOptions } from "../../../src/client/client.js";
import { brokerBackend } from "../../../src/client/connect.js";
import type { RecordBatch } from "../../../src/client/record-batch.js";
import { ascii } from "../../support/bytes.js";
import { FakeBroker, type FakeOptions } from "../../support/fake-broker.js";

export const UP_TO_V2 = [1, 2, 3, 4].map((apiKey) => ({
  apiKey,
  minVersion: 1,
  maxVersion: apiKey % 2 === 0 ? 2 : 1,
}));

export async function clientOf(fake: FakeOptions = {}, options: ClientOptions = {}) {
  const broker = await FakeBroker.start(fake);
  const client = new Client(brokerBackend({ broker: broker.address }), options);
  onTestFinished(() => client.close());
  return { broker, client };
}

/** Appends records that say their own number. */
export function fill(broker: FakeBroker, topic: string, partition: number, count: number, bytes = 1): void {
  const log = broker.log(topic, partition);
  for (let i = 0; i < count; i++) log.push(ascii(`${log.length}`.padEnd(bytes, ".")));
}

export const textsOf = (batch: RecordBatch): string[] =>
  [...batch].map((record) => `${batch.topic}-${batch.partition} ${Buffer.from(record)}`);

/** All of it. */
export async function readAll(batches: AsyncIterable<RecordBatch>): Promise<string[]> {
  const read: string[] = [];
  for await (const batch of batches) read.push(...textsOf(batch));
  return read;
}

/** Reads on until there are so many. */
export async function readSome(batches: AsyncIterator<RecordBatch, void>, count: number): Promise<string[]> {
  const read: string[] = [];
  while (read.length < count) {
    const { value } = await batches.next();
    if (value === undefined) throw new Error(`it has ended after ${read.length} of ${count}`);
    read.push(...textsOf(value));
  }
  return read;
}

export const numbered = (name: string, from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `${name} ${from + i}`);
