// The grammar of requests once more, slowly and from the specification: what a broker may answer to a stream of bytes. It shares nothing
// with src/protocol.

export const NONE = 0;
export const UNKNOWN_TOPIC = 1;
export const OUT_OF_RANGE = 2;
export const TOO_LARGE = 3;
export const UNSUPPORTED = 4;
export const CORRUPT = 5;
export const OVERLOADED = 8;
export const MISMATCH = 11;

const METADATA_TOPICS_MAX = 10_000;
const FETCH_PARTITIONS_MAX = 1_000;
const HEADER_BYTES = 8;

/** What is behind the frame: which partitions there are, and what fits a segment. */
export interface World {
  readonly partitions: ReadonlyMap<string, number>;
  readonly payloadBytesMax: number;
  readonly frameBytesMax: number;
}

export interface Expected {
  readonly correlation: number;
  readonly key: number;
  readonly version: number;
  /** One of these. */
  readonly errors: readonly number[];
}

class Misfit extends Error {}

/** Reads from the front, and throws Misfit for what is not there. */
class Fields {
  #at: number;
  readonly #view: DataView;
  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = 0;
  }
  get left(): number {
    return this.#view.byteLength - this.#at;
  }
  #move(bytes: number): number {
    if (bytes > this.left) throw new Misfit();
    this.#at += bytes;
    return this.#at - bytes;
  }
  int8 = (): number => this.#view.getInt8(this.#move(1));
  int32 = (): number => this.#view.getInt32(this.#move(4));
  int64 = (): bigint => this.#view.getBigInt64(this.#move(8));
  skip = (bytes: number): number => this.#move(bytes);
  topic(): string {
    const from = this.#move(2);
    const length = this.#view.getUint16(from);
    const at = this.#move(length);
    return Buffer.from(this.#view.buffer, this.#view.byteOffset + at, length).toString("latin1");
  }
}

const demand = (holds: boolean): void => {
  if (!holds) throw new Misfit();
};
const name = (text: string): string => {
  demand(/^[A-Za-z0-9._-]{1,249}$/.test(text));
  return text;
};
const finished = (fields: Fields): void => demand(fields.left === 0);

/** The errors that a request may be answered with, as its body is. Undefined: with nothing at all. */
export function judge(key: number, version: number, body: Uint8Array, world: World): readonly number[] | undefined {
  const kind = kinds[`${key}.${version}`];
  if (kind === undefined) return [UNSUPPORTED];
  if (kind === judgeProduce) return judgeProduce(body, world, version);
  try {
    return kind(body, world, version);
  } catch (error) {
    if (error instanceof Misfit) return [CORRUPT];
    throw error;
  }
}

function judgeProduce(body: Uint8Array, world: World, version: number): readonly number[] | undefined {
  const fields = new Fields(body);
  let silent = false;
  try {
    const topic = fields.topic();
    const partition = fields.int32();
    const ack = fields.int8();
    silent = ack === 0;
    const expected = version === 2 ? fields.int64() : -1n;
    const records = fields.int32();
    name(topic);
    demand(partition >= 0 && ack >= 0 && ack <= 2 && records > 0 && records <= Math.floor(fields.left / 5));
    const known = partition < (world.partitions.get(topic) ?? 0);
    return silent ? undefined : known ? judgeRegion(fields, records, expected, world) : [UNKNOWN_TOPIC];
  } catch (error) {
    if (error instanceof Misfit) return silent ? undefined : [CORRUPT];
    throw error;
  }
}

function judgeRegion(fields: Fields, records: number, expected: bigint, world: World): readonly number[] {
  let tooLarge = false;
  // Which of two things that are wrong is said is not written anywhere: whether the log ends there is seen before its records are.
  const orElsewhere = expected === -1n ? [] : [MISMATCH];
  try {
    for (let i = 0; i < records; i++) {
      const size = fields.int32();
      demand(size >= 1);
      fields.skip(size);
      tooLarge ||= size > world.payloadBytesMax;
    }
    finished(fields);
  } catch (error) {
    if (error instanceof Misfit) return [CORRUPT, ...orElsewhere];
    throw error;
  }
  return [tooLarge ? TOO_LARGE : NONE, ...orElsewhere];
}

function judgeFetch(body: Uint8Array, world: World, version: number): readonly number[] {
  const fields = new Fields(body);
  const topic = name(fields.topic());
  const partition = fields.int32();
  const from = fields.int64();
  const maxBytes = fields.int32();
  const [wait, minBytes] = version === 2 ? [fields.int32(), fields.int32()] : [0, 0];
  finished(fields);
  demand(partition >= 0 && from >= 0n && maxBytes > 0 && wait >= 0 && minBytes >= 0 && minBytes <= maxBytes);
  return partition < (world.partitions.get(topic) ?? 0) ? [NONE, OUT_OF_RANGE] : [UNKNOWN_TOPIC];
}

function judgeMultiFetch(body: Uint8Array): readonly number[] {
  const fields = new Fields(body);
  const replica = fields.int32();
  const [wait, minBytes, minRecords, maxBytes] = [fields.int32(), fields.int32(), fields.int32(), fields.int32()];
  const count = fields.int32();
  demand(replica >= -1 && wait >= 0 && minBytes >= 0 && minRecords >= 0 && maxBytes > 0 && minBytes <= maxBytes);
  demand(count >= 1 && count <= FETCH_PARTITIONS_MAX);
  const seen = new Set<string>();
  for (let i = 0; i < count; i++) {
    const topic = name(fields.topic());
    const partition = fields.int32();
    const epoch = fields.int32();
    const from = fields.int64();
    const max = fields.int32();
    demand(partition >= 0 && epoch >= -1 && from >= 0n && max > 0);
    seen.add(`${topic} ${partition}`);
  }
  finished(fields);
  demand(seen.size === count);
  return [NONE, OVERLOADED];
}

function judgeMetadata(body: Uint8Array, world: World): readonly number[] {
  const fields = new Fields(body);
  const count = fields.int32();
  demand(count >= 0 && count <= METADATA_TOPICS_MAX && count <= Math.floor(fields.left / 3));
  let known = true;
  for (let i = 0; i < count; i++) {
    const topic = name(fields.topic());
    known &&= world.partitions.has(topic);
  }
  finished(fields);
  return [known ? NONE : UNKNOWN_TOPIC];
}

function judgeHello(body: Uint8Array): readonly number[] {
  demand(body.length === 0);
  return [NONE];
}

function judgeListOffsets(body: Uint8Array, world: World): readonly number[] {
  const fields = new Fields(body);
  const topic = name(fields.topic());
  const partition = fields.int32();
  const time = fields.int64();
  finished(fields);
  demand(partition >= 0 && time >= -2n);
  return partition < (world.partitions.get(topic) ?? 0) ? [NONE] : [UNKNOWN_TOPIC];
}

const kinds: Readonly<
  Record<string, (body: Uint8Array, world: World, version: number) => readonly number[] | undefined>
> = {
  "1.1": judgeProduce,
  "1.2": judgeProduce,
  "2.1": judgeFetch,
  "2.2": judgeFetch,
  "2.3": judgeMultiFetch,
  "3.1": judgeMetadata,
  "3.2": judgeMetadata,
  "4.1": judgeHello,
  "5.1": judgeListOffsets,
};

export interface Foreseen {
  readonly answers: readonly Expected[];
  /** `closed`: a length that cannot be ends the connection. `cut`: it ends in the middle of a frame. */
  readonly end: "frame" | "cut" | "closed";
}

/** What a connection answers that is sent these bytes. */
export function foresee(stream: Uint8Array, world: World): Foreseen {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  const answers: Expected[] = [];
  let at = 0;
  while (stream.length - at >= 4) {
    const length = view.getInt32(at);
    if (length < 1 || length > world.frameBytesMax) return { answers, end: "closed" };
    if (length > stream.length - at - 4) break;
    const frame = stream.subarray(at + 4, at + 4 + length);
    at += 4 + length;
    if (length < HEADER_BYTES) {
      answers.push({ correlation: 0, key: 0, version: 0, errors: [CORRUPT] });
      continue;
    }
    const head = new DataView(frame.buffer, frame.byteOffset, HEADER_BYTES);
    const [key, version, correlation] = [head.getInt16(0), head.getInt16(2), head.getInt32(4)];
    const errors = judge(key, version, frame.subarray(HEADER_BYTES), world);
    if (errors !== undefined) answers.push({ correlation, key, version, errors });
  }
  return { answers, end: at === stream.length ? "frame" : "cut" };
}
