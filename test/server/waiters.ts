// Records, and fetches that wait for them, as the tests of waiting need them.

import type { RunningBroker } from "../../src/ops/start-broker.js";
import { ascii } from "../support/bytes.js";
import { until } from "../support/waiting.js";
import { readFetched, readStored } from "../support/wire.js";

export const text = (payload: Uint8Array): string[] =>
  readStored(payload).payloads.map((record) => Buffer.from(record).toString().trimEnd());
export const fetched = async (response: Promise<Parameters<typeof readFetched>[0]>): Promise<string[]> =>
  text(readFetched(await response).payload);
/** As stored: 8 bytes more. */
export const record = (name: string, bytes = 92): Uint8Array => ascii(name.padEnd(bytes));

export const parked = (broker: RunningBroker, count: number): Promise<void> =>
  until(`${count} fetches wait`, () => broker.statistics().fetchesWaiting === count);

/** Segments that three records of 1300 bytes fill. */
export const SMALL_SEGMENTS = { "segment.bytes": "4KiB", "max.frame.bytes": "2KiB", "index.interval.bytes": 512 };
export const third = (name: string): Uint8Array => record(name, 1300);
