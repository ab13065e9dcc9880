// What lies in a partition's directory, before anything is judged: segments with their sizes and what their `.index` says
// of itself, leftovers, and files that are not ours. It reads 72 bytes of each index and no record.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { native } from "../native/binding.js";
import { isMissing } from "./damage.js";
import { decodeIndexHeader, INDEX_HEADER_BYTES, type IndexHeader } from "./index-file.js";
import { classifyFile, indexName, logName } from "./segment-name.js";
import { statSegment } from "./segment-store.js";

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

export async function findFiles(dir: string): Promise<FoundFiles> {
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
    segments.push(...(await Promise.all(some.map((base) => lookAt(dir, base, indexes.has(base))))));
  }
  const withLog = new Set(bases);
  for (const base of indexes) if (!withLog.has(base)) leftovers.push(join(dir, indexName(base)));
  return { segments, leftovers, foreign };
}

async function lookAt(dir: string, baseOffset: number, hasIndex: boolean): Promise<FoundSegment> {
  const path = join(dir, logName(baseOffset));
  const { bytes, mtimeMs, allocatedBytes } = await statSegment(path);
  const index = hasIndex ? await readHeader(join(dir, indexName(baseOffset)), baseOffset, bytes) : "it is missing";
  return { baseOffset, path, bytes, mtimeMs, allocatedBytes, index };
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
