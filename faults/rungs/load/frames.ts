// Requests of the crowd, byte by byte from docs/protocol.md: it must not depend on the client of this package.

export const CROWD_TOPIC = "crowd";

const PRODUCE = 1;
const FETCH = 2;
const METADATA = 3;

function frame(apiKey: number, version: number, correlation: number, ...body: Uint8Array[]): Buffer {
  const header = Buffer.alloc(12);
  const bytes = body.reduce((sum, { length }) => sum + length, 0);
  header.writeInt32BE(8 + bytes, 0);
  header.writeInt16BE(apiKey, 4);
  header.writeInt16BE(version, 6);
  header.writeInt32BE(correlation, 8);
  return Buffer.concat([header, ...body]);
}

const int32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeInt32BE(value, 4 * at);
  return bytes;
};
const int64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
};
const topic = Buffer.concat([Buffer.from([0, CROWD_TOPIC.length]), Buffer.from(CROWD_TOPIC)]);

/** Of all topics. */
export const metadataFrame = (correlation: number, version: 1 | 2 = 1): Buffer =>
  frame(METADATA, version, correlation, int32(0));

/** Acknowledged when it is written. */
export function produceFrame(records: number, size: number): Buffer {
  const all = Array.from({ length: records }, () => Buffer.concat([int32(size), Buffer.alloc(size, 120)]));
  return frame(PRODUCE, 1, 7, topic, int32(0), Buffer.from([1]), int32(records), ...all);
}

export function fetchFrame(offset: number, { maxBytes = 1 << 20, maxWaitMs = 0, minBytes = 0 } = {}): Buffer {
  // What is asked for at least may not be more than what is asked for at most.
  const most = Math.max(maxBytes, minBytes);
  return frame(FETCH, 2, 9, topic, int32(0), int64(offset), int32(most, maxWaitMs, minBytes));
}

export const BAD_LENGTH = int32(-1);
