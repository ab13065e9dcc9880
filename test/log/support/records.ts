// Payloads that say which they are, so that a record in the wrong place is seen.

import type { LogRecord } from "../../../src/log/stored-records.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const bytesOf = (text: string): Uint8Array => encoder.encode(text);
export const textOf = (payload: Uint8Array): string => decoder.decode(payload);
export const texts = (records: readonly LogRecord[]): string[] => records.map(({ payload }) => textOf(payload));

export async function collect<T>(from: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const each of from) all.push(each);
  return all;
}
