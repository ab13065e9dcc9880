// Everything that the addon exports, with what each argument must be: for callers that get them wrong on purpose. A test compares this list with what
// the addon really has.

import { join } from "node:path";
import {
  type NativeAddon,
  type NativeFile,
  type NativeSegmentWriter,
  SELECTOR_COUNTERS,
  type SelectorOptions,
} from "../../../src/native/binding.js";
import type { Random } from "../../lib/random.js";

export type Kind =
  | "number"
  | "boolean"
  | "path"
  | "bytes"
  | "int32s"
  | "uint32s"
  | "float64s"
  | "array"
  | "function"
  | "object";

export interface Argument {
  readonly kind: Kind;
  readonly right: (random: Random) => unknown;
  /** Left out it has a default. */
  readonly optional?: boolean;
  /** Of an object of options: each of its own. */
  readonly fields?: Readonly<Record<string, Argument>>;
}

export const number = (...values: number[]): Argument => ({ kind: "number", right: (random) => random.pick(values) });
const boolean = (optional = false): Argument => ({ kind: "boolean", right: (random) => random.chance(0.5), optional });
const path = (right: (random: Random) => string): Argument => ({ kind: "path", right });
const bytes = (length: number): Argument => ({ kind: "bytes", right: () => new Uint8Array(length) });
const int32s = (length: number): Argument => ({ kind: "int32s", right: () => new Int32Array(length) });
const uint32s = (length: number): Argument => ({ kind: "uint32s", right: () => new Uint32Array(length) });
const optional = (argument: Argument): Argument => ({ ...argument, optional: true });

function options(fields: Readonly<Record<string, Argument>>): Argument {
  const right = (random: Random): unknown =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.right(random)]));
  return { kind: "object", right, fields };
}

const position = number(0, 1, 4096, 100_000);
const format = number(0, 1);

/** By method: what it takes. Getters take nothing. */
export type Methods = Readonly<Record<string, readonly Argument[]>>;

export const fileMethods: Methods = {
  size: [],
  allocatedBytes: [],
  read: [bytes(100), position],
  readAsync: [bytes(100), position],
  write: [bytes(100), position, boolean()],
  walk: [format, position, number(0, 1, 1000), position, number(0, 100)],
  walkAsync: [format, position, number(0, 1, 1000), position],
  scan: [format, position, position, number(1, 4096)],
  sync: [],
  dropCache: [position],
  truncate: [position],
  close: [],
};
export const fileGetters = ["path", "isOpen"];

export const writerMethods: Methods = {
  reserve: [position, boolean(true)],
  populate: [position],
  barrier: [],
  rename: [path((random) => `renamed-${random.int(0, 1e9)}`)],
  seal: [],
  close: [],
};
export const writerGetters = ["end", "reserved"];

export const lockMethods: Methods = { release: [] };

export const selectorMethods: Methods = {
  listen: [path(() => "127.0.0.1"), number(0)],
  listenUnix: [path((random) => `socket-${random.int(0, 1e9)}`)],
  stopListening: [],
  flush: [number(0, 1), { kind: "array", right: () => [] }],
  wake: [],
  close: [number(0, 1, 2 ** 31 - 1), boolean()],
  finish: [number(0, 1)],
  sweep: [],
  queuedBytes: [number(0, 1, 2 ** 31 - 1)],
  takeFileFailures: [],
  destroy: [],
};

const selectorArrays: Readonly<Record<string, Argument>> = {
  arena: bytes(65_536),
  replies: bytes(1000),
  frames: int32s(300),
  opened: int32s(64),
  closed: int32s(64),
  flushes: int32s(100),
  counters: { kind: "float64s", right: () => new Float64Array(SELECTOR_COUNTERS) },
};

const selectorFields: Readonly<Record<string, Argument>> = {
  ...selectorArrays,
  maxFrameBytes: number(1000),
  connectionsMax: number(1, 100),
  requestsMax: number(1, 10),
  turnBytesIn: number(1000),
  turnBytesOut: number(1000),
  queuedBytesMax: number(1, 1e6),
  connectionQueuedBytesMax: number(1, 1e6),
  frameTimeoutMs: number(1, 1000),
  writeStallMs: number(1, 1000),
  idleMs: number(0, 1000),
  zeroCopy: boolean(),
};

export const selectorOptions = options(selectorFields);

/** Of `new Selector`. */
export const selectorArguments: readonly Argument[] = [
  selectorOptions,
  { kind: "function", right: () => () => undefined },
];

const writerFields: Readonly<Record<string, Argument>> = {
  path: path((random) => `segment-${random.int(0, 1e9)}`),
  mode: number(0, 1),
  format,
  capacity: number(65_536, 1 << 20),
  indexIntervalBytes: number(1, 4096),
  reserve: number(0, 4096),
  forceLater: boolean(true),
};

/** What the addon itself exports. */
export const functions: Methods = {
  crc32c: [bytes(100), optional(path(() => "table"))],
  abi: [],
  openFile: [path(() => "a-file"), options({ writable: boolean(), create: boolean(true) })],
  createSegmentWriter: [options(writerFields)],
  openSegmentWriter: [options({ ...writerFields, end: number(0, 1) })],
  append: [int32s(16), number(0, 1, 2), { kind: "array", right: () => [new Uint8Array(100)] }, uint32s(30)],
  measureRegion: [bytes(100), number(0, 50), number(0, 50), number(-1, 1, 7), format, number(0, 1000), number(0, 100)],
  walkRecords: [bytes(100), number(0, 50), format, number(0, 100), uint32s(20), number(0, 10), uint32s(4)],
  renameFile: [path(() => "nothing-here"), path(() => "nor-here")],
  unlinkFile: [path(() => "nothing-here")],
  syncDirectory: [path(() => ".")],
  replaceFile: [path(() => "replaced"), bytes(10)],
  freeBytes: [path(() => ".")],
  lockFile: [path((random) => `lock-${random.int(0, 1e9)}`)],
  isMemoryFileSystem: [path(() => ".")],
  openFilesLimit: [],
  barrierCount: [],
  configurePools: [
    options({ barriers: optional(number(1, 8)), reads: optional(number(1, 4)), maintenance: optional(number(1, 2)) }),
  ],
};

export const constants = ["platform", "crc32cKind", "crc32cKinds", "Selector"];

export const writerOptions = (directory: string, name: string, mode: 0 | 1, capacity = 1 << 20) => ({
  path: join(directory, name),
  mode,
  format: 1 as const,
  capacity,
  indexIntervalBytes: 4096,
  reserve: capacity / 4,
});

/** `count × (int32 size | payload)`. */
export function region(count: number, size = 20): Uint8Array {
  const bytes = Buffer.alloc(count * (4 + size), 7);
  for (let at = 0; at < count; at++) bytes.writeInt32BE(size, at * (4 + size));
  return bytes;
}

/** Appends, and returns the row's status. */
export function append(native: NativeAddon, writer: Pick<NativeSegmentWriter, "id">, records = 3): number {
  const source = region(records);
  const table = Int32Array.of(writer.id, 0, 0, source.length, records, -1, -1, -1);
  native.append(table, 1, [source], new Uint32Array(30));
  return table[5];
}

/** Stored in crc32c: the prefix, the sum, the payload. */
export const STORED_BYTES = 4 + 4 + 20;

export const selectorOptionsOf = (random: Random, more: Partial<SelectorOptions> = {}): SelectorOptions => ({
  ...(selectorOptions.right(random) as SelectorOptions),
  connectionsMax: 100,
  requestsMax: 10,
  queuedBytesMax: 1e6,
  connectionQueuedBytesMax: 1e6,
  frameTimeoutMs: 1000,
  writeStallMs: 1000,
  ...more,
});

/** Reads `records` back and compares them. */
export async function holds(native: NativeAddon, file: NativeFile, records: number): Promise<boolean> {
  const stored = new Uint8Array(records * STORED_BYTES);
  if ((await file.readAsync(stored, 0)) !== stored.length) return false;
  const walked = new Uint32Array(4);
  native.walkRecords(stored, 0, 1, 1000, new Uint32Array(records * 2), records, walked);
  return walked[0] === records;
}
