// Whether the body of an answer is what its grammar says, by a reader that is written apart from src/protocol.

import { Fields } from "../../../test/support/wire.js";

/** What is wrong with it, or undefined. */
export function bodyProblem(key: number, version: number, body: Uint8Array): string | undefined {
  const fields = new Fields(body);
  try {
    const problem = readers[`${key}.${version}`](fields, version);
    return problem ?? (fields.left > 0 ? `${fields.left} bytes are left over in its body` : undefined);
  } catch (error) {
    return `its body of ${body.length} bytes does not parse: ${String(error)}`;
  }
}

type Read = (fields: Fields, version: number) => string | undefined;

const produce: Read = (fields) => {
  const [base, end] = [fields.int64(), fields.int64()];
  return base >= 0 && base < end ? undefined : `base offset ${base}, end of the log ${end}`;
};

const fetch: Read = (fields) => {
  const highWatermark = fields.int64();
  const payload = fields.int32();
  fields.bytesOf(payload);
  return highWatermark >= 0 && payload >= 0 ? undefined : `high watermark ${highWatermark}, ${payload} bytes`;
};

const multiFetch: Read = (fields) => {
  for (let count = fields.int32(); count > 0; count--) {
    const name = `${fields.string()}-${fields.int32()}`;
    const error = fields.int16();
    fields.int32();
    fields.int64();
    const [start, highWatermark, end] = [fields.int64(), fields.int64(), fields.int64()];
    fields.bytesOf(fields.int32());
    if (!(-1 <= start && start <= highWatermark && highWatermark <= end)) {
      return `${name} (error ${error}) reaches from ${start} to ${highWatermark} and ${end}`;
    }
  }
  return undefined;
};

const metadata: Read = (fields, version) => {
  for (let topics = fields.int32(); topics > 0; topics--) {
    const name = fields.string();
    if (version === 2) fields.int8();
    for (let partitions = fields.int32(); partitions > 0; partitions--) {
      fields.bytesOf(version === 2 ? 8 : 4);
      const start = fields.int64();
      const highWatermark = fields.int64();
      if (version === 2) fields.bytesOf(16);
      if (start > highWatermark) return `${name} reaches from ${start} to ${highWatermark}`;
    }
  }
  return undefined;
};

const hello: Read = (fields) => {
  const name = fields.string();
  fields.string();
  fields.bytesOf(8);
  fields.bytesOf(6 * fields.int32());
  return name === "" ? "the broker has no name" : undefined;
};

const listOffsets: Read = (fields) => {
  const [offset, timestamp] = [fields.int64(), fields.int64()];
  return offset >= 0 && timestamp >= -1 ? undefined : `offset ${offset}, time ${timestamp}`;
};

const readers: Readonly<Record<string, Read>> = {
  "1.1": produce,
  "1.2": produce,
  "2.1": fetch,
  "2.2": fetch,
  "2.3": multiFetch,
  "3.1": metadata,
  "3.2": metadata,
  "4.1": hello,
  "5.1": listOffsets,
};
