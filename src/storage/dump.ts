// `millrace dump`: the records of a segment file, or of all segments of a partition, one after the other. It reads without the
// partition's lock, so a broker may be writing meanwhile, and shows what lies there, also behind what a start would cut.

import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { MillraceError } from "../model/errors.js";
import type { RecordFormat } from "../model/record-format.js";
import { type NativeFile, native, ScanStop } from "../native/binding.js";
import { lookAround } from "./partition-files.js";
import { readMeta } from "./partition-meta.js";
import { type TailShape, tailShape } from "./recovery-table.js";
import { classifyFile } from "./segment-name.js";
import { type StoredFormat, storedFormat } from "./stored-format.js";

export type DumpItem =
  | {
      readonly kind: "segment";
      readonly path: string;
      readonly baseOffset: number;
      readonly bytes: number;
      readonly format: RecordFormat;
    }
  | {
      readonly kind: "record";
      readonly offset: number;
      readonly position: number;
      /** Of the payload. */
      readonly length: number;
      /** As stored; undefined in a format without sums. */
      readonly sum: number | undefined;
      readonly sumMatches: boolean | undefined;
      /** The payload's first bytes, a copy. */
      readonly head: Uint8Array;
    }
  /** Where the records of a segment end, and what follows. */
  | {
      readonly kind: "end";
      readonly offset: number;
      readonly position: number;
      readonly tail: TailShape;
      readonly tailBytes: number;
    }
  /** The system does not let it be read, or not to its end; the segments behind it follow. */
  | { readonly kind: "unreadable"; readonly path: string; readonly what: string };

export interface DumpOptions {
  /** How much of each payload is shown. Default 64. */
  readonly headBytes?: number;
  /** For a segment file without partition.json beside it. */
  readonly format?: RecordFormat | undefined;
}

const HEAD_BYTES = 64;
/** Read at once. A payload that is longer is summed by the addon and never held in memory. */
const WINDOW_BYTES = 1024 * 1024;

/** `path` is a segment file or a partition's directory. Rejects BAD_ARGUMENT when it is neither. */
export async function* dump(path: string, options: DumpOptions = {}): AsyncGenerator<DumpItem, void, undefined> {
  const isDirectory = (await stat(path)).isDirectory();
  const dir = isDirectory ? path : dirname(path);
  const name = options.format ?? (await readMeta(dir));
  if (name === undefined) {
    throw new MillraceError(
      "BAD_ARGUMENT",
      `no partition.json in ${dir}: if ${path} is a segment or a partition, name its record format, plain or crc32c`,
    );
  }
  const format = storedFormat(name);
  // What is wrong with an index is not asked here, and a segment that cannot be looked at fails again below.
  const files = isDirectory ? (await lookAround(dir, () => undefined)).segments.map((segment) => segment.path) : [path];
  for (const file of files) yield* dumpOrSay(file, format, options.headBytes ?? HEAD_BYTES);
}

async function* dumpOrSay(
  path: string,
  format: StoredFormat,
  headBytes: number,
): AsyncGenerator<DumpItem, void, undefined> {
  try {
    yield* dumpSegment(path, format, headBytes);
  } catch (cause) {
    if (!(cause instanceof Error) || !("code" in cause)) throw cause;
    yield { kind: "unreadable", path, what: cause.message };
  }
}

async function* dumpSegment(
  path: string,
  format: StoredFormat,
  headBytes: number,
): AsyncGenerator<DumpItem, void, undefined> {
  const named = classifyFile(basename(path));
  // A file that was moved away is looked at, too; its offsets are counted from 0 then.
  const baseOffset = named.kind === "log" ? named.baseOffset : 0;
  const file = await native.openFile(path, { writable: false });
  try {
    const bytes = file.size();
    yield { kind: "segment", path, baseOffset, bytes, format: format.name };
    const window = new Window(file, bytes);
    let offset = baseOffset;
    for (let position = 0; ; offset++) {
      const header = await window.at(position, format.headerBytes);
      const length = header === undefined ? 0 : header.getInt32(0);
      if (header === undefined || length <= 0 || length > bytes - position - format.headerBytes) {
        const rest = await file.scan(format.id, position, bytes, bytes + 1);
        yield { kind: "end", offset, position, tail: tailShape(rest.stop, rest.tailBytes), tailBytes: rest.tailBytes };
        return;
      }
      const sum = format.sum(header, 0);
      const end = position + format.headerBytes + length;
      const payload = await window.at(position + format.headerBytes, Math.min(length, headBytes));
      const head = payload === undefined ? new Uint8Array(0) : copyOf(payload);
      const sumMatches = sum === undefined ? undefined : await matches(file, window, format, position, end, sum);
      yield { kind: "record", offset, position, length, sum, sumMatches, head };
      position = end;
    }
  } finally {
    file.close();
  }
}

async function matches(
  file: NativeFile,
  window: Window,
  format: StoredFormat,
  position: number,
  end: number,
  sum: number,
): Promise<boolean> {
  const from = position + format.headerBytes;
  if (end - from > WINDOW_BYTES) return (await file.scan(format.id, position, end, end + 1)).stop === ScanStop.END;
  const payload = await window.at(from, end - from);
  return payload !== undefined && native.crc32c(bytesOf(payload)) === sum;
}

/** A piece of the file in memory that follows the reader. */
class Window {
  readonly #bytes = new Uint8Array(WINDOW_BYTES);
  #from = 0;
  #have = 0;

  constructor(
    readonly file: NativeFile,
    readonly limit: number,
  ) {}

  /** `bytes` at a position, at most a window; undefined when the file has fewer there. Valid until the next call. */
  async at(position: number, bytes: number): Promise<DataView | undefined> {
    if (bytes > this.limit - position) return undefined;
    if (position < this.#from || position + bytes > this.#from + this.#have) {
      this.#have = await this.file.readAsync(this.#bytes, position);
      this.#from = position;
      if (this.#have < bytes) return undefined;
    }
    return new DataView(this.#bytes.buffer, position - this.#from, bytes);
  }
}

const bytesOf = (view: DataView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
const copyOf = (view: DataView): Uint8Array => bytesOf(view).slice();
