// What lies in a partition's directory, before anything is judged: segments with their sizes and what their `.index` says
// of itself, leftovers, and files that are not ours. It reads 72 bytes of each index and no record.

import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { native } from "../native/binding.js";
import { isMissing } from "./damage.js";
import { decodeIndexBody, decodeIndexHeader, INDEX_HEADER_BYTES, type IndexHeader } from "./index-file.js";
import type { OffsetIndex } from "./offset-index.js";
import { classifyFile, indexName, logName } from "./segment-name.js";
import { indexPathOf, statSegment } from "./segment-store.js";

export interface FoundSegment {
  readonly baseOffset: number;
  readonly path: string;
  readonly bytes: number;
  readonly mtimeMs: number;
  readonly allocatedBytes: number;
  /** What its `.index` says, or why that counts for nothing. */
  readonly index: IndexHeader | string;
}

export interface FoundFiles {
  /** In offset order. */
  readonly segments: readonly FoundSegment[];
  /** Paths that a crash left and nobody needs: temporary files, indexes without a segment. */
  readonly leftovers: readonly string[];
  readonly foreign: readonly string[];
}

/** Segments that are looked at together: a start with a thousand of them should not wait for one after the other. */
const AT_ONCE = 16;

/** Of a file that cannot be looked at: what the system said. */
export interface Unreadable {
  readonly path: string;
  readonly cause: unknown;
}

/** Rejects with what the system says when a file cannot be looked at. */
export async function findFiles(dir: string): Promise<FoundFiles> {
  return lookAround(dir, ({ cause }) => {
    throw cause;
  });
}

/** For who wants to see the rest as well: a segment that cannot be looked at is there with 0 bytes, an index says why. */
export async function lookAround(dir: string, unreadable: (file: Unreadable) => void): Promise<FoundFiles> {
  const bases: number[] = [];
  const indexes = new Set<number>();
  const leftovers: string[] = [];
  const foreign: string[] = [];
  for (const name of await readdir(dir)) {
    const file = classifyFile(name);
    if (file.kind === "log") bases.push(file.baseOffset);
    else if (file.kind === "index") indexes.add(file.baseOffset);
    else if (file.kind === "leftover") leftovers.push(join(dir, name));
    else if (file.kind === "foreign") foreign.push(join(dir, name));
  }
  bases.sort((a, b) => a - b);
  const segments: FoundSegment[] = [];
  for (let from = 0; from < bases.length; from += AT_ONCE) {
    const some = bases.slice(from, from + AT_ONCE);
    const looks = await Promise.all(some.map((base) => lookAt(dir, base, indexes.has(base), unreadable)));
    for (const segment of looks) if (segment !== undefined) segments.push(segment);
  }
  const withLog = new Set(bases);
  for (const base of indexes) if (!withLog.has(base)) leftovers.push(join(dir, indexName(base)));
  return { segments, leftovers, foreign };
}

async function lookAt(
  dir: string,
  baseOffset: number,
  hasIndex: boolean,
  unreadable: (file: Unreadable) => void,
): Promise<FoundSegment | undefined> {
  const path = join(dir, logName(baseOffset));
  let stats = NO_STATS;
  try {
    stats = await statSegment(path);
  } catch (cause) {
    unreadable({ path, cause });
    // Removed while the directory was read; a link that leads nowhere is another thing.
    if (isMissing(cause) && !(await isThere(path))) return undefined;
  }
  const indexPath = join(dir, indexName(baseOffset));
  let index: IndexHeader | string = "it is missing";
  try {
    if (hasIndex) index = await readHeader(indexPath, baseOffset, stats.bytes);
  } catch (cause) {
    unreadable({ path: indexPath, cause });
    index = "it cannot be read";
  }
  return { baseOffset, path, ...stats, index };
}

const NO_STATS = { bytes: 0, mtimeMs: 0, allocatedBytes: 0 };

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** The entries of an index whose header was read, or undefined when they do not match their sum or it is gone. */
export async function readIndexBody(segment: FoundSegment, header: IndexHeader): Promise<OffsetIndex | undefined> {
  try {
    const file = await native.openFile(indexPathOf(segment), { writable: false });
    try {
      const bytes = new Uint8Array(file.size());
      return decodeIndexBody(bytes.subarray(0, await file.readAsync(bytes, 0)), header);
    } finally {
      file.close();
    }
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
}

async function readHeader(path: string, baseOffset: number, segmentBytes: number): Promise<IndexHeader | string> {
  try {
    const file = await native.openFile(path, { writable: false });
    try {
      const bytes = new Uint8Array(INDEX_HEADER_BYTES);
      const read = file.read(bytes, 0);
      const outcome = decodeIndexHeader(bytes.subarray(0, read), baseOffset, file.size(), segmentBytes);
      return "header" in outcome ? outcome.header : outcome.problem;
    } finally {
      file.close();
    }
  } catch (cause) {
    if (isMissing(cause)) return "it is missing";
    throw cause;
  }
}
