// Requests of the crowd, byte by byte from docs/protocol.md: it must not depend on the client of this package.

export const CROWD_TOPIC = "crowd";

const PRODUCE = 1;
const FETCH = 2;
const METADATA = 3;
const HELLO = 4;

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
const named = (topic: string): Buffer => Buffer.concat([Buffer.from([0, topic.length]), Buffer.from(topic)]);

/** Of all topics. */
export const metadataFrame = (correlation: number, version: 1 | 2 = 1): Buffer =>
  frame(METADATA, version, correlation, int32(0));

export const helloFrame = (): Buffer => frame(HELLO, 1, 5);

/** Acknowledged when it is written. */
export function produceFrame(records: number, size: number): Buffer {
  const all = Array.from({ length: records }, () => Buffer.concat([int32(size), Buffer.alloc(size, 120)]));
  return frame(PRODUCE, 1, 7, named(CROWD_TOPIC), int32(0), Buffer.from([1]), int32(records), ...all);
}

export function fetchFrame(
  offset: number,
  { maxBytes = 1 << 20, maxWaitMs = 0, minBytes = 0, topic = CROWD_TOPIC } = {},
): Buffer {
  // What is asked for at least may not be more than what is asked for at most.
  const most = Math.max(maxBytes, minBytes);
  return frame(FETCH, 2, 9, named(topic), int32(0), int64(offset), int32(most, maxWaitMs, minBytes));
}

/** From the beginning of so many partitions of one topic. */
export function multiFetchFrame(name: string, partitions: number): Buffer {
  const parts = Array.from({ length: partitions }, (_, at) =>
    Buffer.concat([named(name), int32(at, -1), int64(0), int32(1 << 20)]),
  );
  return frame(FETCH, 3, 11, int32(-1, 0, 0, 0, 1 << 20, partitions), ...parts);
}

export const BAD_LENGTH = int32(-1);
