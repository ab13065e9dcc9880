// `millrace verify`: looks at every segment, index and sum of a partition. It reads without the partition's lock, so a broker
// may be writing meanwhile: what it says about the end of the log is how it was at that moment. It changes nothing; what
// follows for a person is repair.ts.

import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { counted } from "../model/plural.js";
import { native } from "../native/binding.js";
import type { Checkpoint } from "./checkpoint.js";
import { CheckpointFile } from "./checkpoint-file.js";
import { isMissing, PartitionDamagedError } from "./damage.js";
import { type FoundSegment, findFiles } from "./partition-files.js";
import { readMeta } from "./partition-meta.js";
import { withoutRetired } from "./recovery-leftovers.js";
import { durableFloor } from "./recovery-plan.js";
import { decideTail, successorOf, tailShape } from "./recovery-table.js";
import { classifyFile, META_FILE } from "./segment-name.js";
import { indexPathOf } from "./segment-store.js";
import { type StoredFormat, storedFormat } from "./stored-format.js";
import { type Examined, examineIndex, examineSegment, type Place } from "./verify-segment.js";

/** What verify finds, in the order of the log. */
export type Finding =
  | {
      /** Something that was acknowledged is not what it was, or what says where it is cannot be trusted. */
      readonly kind: "damage";
      readonly path: string;
      /** −1 where there is none. */
      readonly position: number;
      readonly offset: number;
      readonly what: string;
    }
  /** Worth saying, and harmless: what the next start will do, an index that it will write. */
  | { readonly kind: "note"; readonly path: string; readonly what: string }
  /** A segment was looked at. */
  | { readonly kind: "segment"; readonly path: string; readonly records: number; readonly bytes: number };

/** A segment as verify saw it. What repair works with. */
export interface SegmentVerdict {
  readonly found: FoundSegment;
  readonly examined: Examined;
  /** The log cannot go on behind this segment's end, for this reason. */
  readonly broken: string | undefined;
  /** A start would cut here; nothing that was durable is lost by it. */
  readonly torn: boolean;
  readonly indexIsGood: boolean;
}

export interface PartitionVerdict {
  readonly dir: string;
  /** Undefined: partition.json does not say. */
  readonly format: StoredFormat | undefined;
  readonly checkpoint: Checkpoint | undefined;
  readonly checkpointDamaged: boolean;
  readonly retired: readonly string[];
  /** Up to and with the first that is broken; what lies behind that is not looked at. */
  readonly segments: readonly SegmentVerdict[];
  readonly behind: readonly FoundSegment[];
}

/** Yields what it finds and returns the verdict. */
export async function* verifyPartition(dir: string): AsyncGenerator<Finding, PartitionVerdict, undefined> {
  const walk = verifyFiles(dir);
  let refuses = false;
  for (;;) {
    const step = await walk.next();
    if (step.done === true) {
      for (const path of step.value.leftovers) yield leftover(path, refuses);
      return step.value.verdict;
    }
    if (step.value.kind === "damage") refuses = true;
    yield step.value;
  }
}

/** What becomes of it depends on whether there will be a start: one that refuses removes nothing. */
function leftover(path: string, refuses: boolean): Finding {
  const isIndex = classifyFile(basename(path)).kind === "index";
  const what = isIndex ? "its segment is not there" : "left by a crash";
  return { kind: "note", path, what: refuses ? what : `${what}; the next start removes it` };
}

interface Walked {
  readonly verdict: PartitionVerdict;
  readonly leftovers: readonly string[];
}

async function* verifyFiles(dir: string): AsyncGenerator<Finding, Walked, undefined> {
  const format = yield* verifyFormat(dir);
  const { checkpoint, damaged } = yield* verifyCheckpoint(dir);
  const files = await findFiles(dir);
  const { leftovers } = files;
  for (const path of files.foreign) yield { kind: "note", path, what: "not of millrace" };
  const verdict = { dir, format, checkpoint, checkpointDamaged: damaged };
  if (files.segments.length === 0) {
    if (checkpoint !== undefined && checkpoint.durableOffset > 0) {
      yield damageOf(
        dir,
        { position: -1, offset: -1 },
        "no segment is there, and the checkpoint says that there were records",
      );
    }
    return { leftovers, verdict: { ...verdict, retired: [], segments: [], behind: [] } };
  }
  let kept = files.segments;
  let retired: readonly string[] = [];
  try {
    ({ kept, retired } = withoutRetired(dir, files.segments, checkpoint));
  } catch (cause) {
    if (!(cause instanceof PartitionDamagedError)) throw cause;
    yield damageOf(dir, { position: -1, offset: kept[0].baseOffset }, cause.what);
  }
  if (format === undefined) return { leftovers, verdict: { ...verdict, retired, segments: [], behind: kept } };

  const floor = durableFloor(kept, checkpoint);
  const segments: SegmentVerdict[] = [];
  for (const [at, found] of kept.entries()) {
    const segment = yield* verifySegment(found, kept.at(at + 1), floor, checkpoint, format);
    if (segment === undefined) continue;
    segments.push(segment);
    if (segment.broken !== undefined || segment.torn) {
      const behind = kept.slice(at + 1);
      for (const { path } of behind)
        yield { kind: "note", path, what: "lies behind the end of the log and was not looked at" };
      return { leftovers, verdict: { ...verdict, retired, segments, behind } };
    }
  }
  return { leftovers, verdict: { ...verdict, retired, segments, behind: [] } };
}

async function* verifyFormat(dir: string): AsyncGenerator<Finding, StoredFormat | undefined, undefined> {
  const path = join(dir, META_FILE);
  try {
    const name = await readMeta(dir);
    if (name !== undefined) return storedFormat(name);
    yield damageOf(path, NOWHERE, "it is missing, so nobody can say how the records lie");
  } catch (cause) {
    if (!(cause instanceof PartitionDamagedError)) throw cause;
    yield damageOf(path, NOWHERE, cause.what);
  }
  return undefined;
}

async function* verifyCheckpoint(
  dir: string,
): AsyncGenerator<Finding, { readonly checkpoint: Checkpoint | undefined; readonly damaged: boolean }, undefined> {
  try {
    return { checkpoint: (await CheckpointFile.open(dir)).last, damaged: false };
  } catch (cause) {
    if (!(cause instanceof PartitionDamagedError)) throw cause;
    yield damageOf(cause.path, NOWHERE, cause.what);
    return { checkpoint: undefined, damaged: true };
  }
}

async function* verifySegment(
  found: FoundSegment,
  next: FoundSegment | undefined,
  floor: number,
  checkpoint: Checkpoint | undefined,
  format: StoredFormat,
): AsyncGenerator<Finding, SegmentVerdict | undefined, undefined> {
  const { index, path } = found;
  const durable = Math.min(floor, next?.baseOffset ?? Number.POSITIVE_INFINITY);
  const header = typeof index === "string" ? undefined : index;
  let examined: Examined;
  let indexProblem: string | undefined;
  try {
    const file = await native.openFile(path, { writable: false });
    try {
      const endOffset = next?.baseOffset ?? (header === undefined ? undefined : found.baseOffset + header.records);
      examined = await examineSegment(file, found, format, marksOf(found, checkpoint), endOffset, durable);
      if (header !== undefined) indexProblem = await examineIndex(file, found, header, format);
    } finally {
      file.close();
    }
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    yield { kind: "note", path, what: "was removed while it was looked at" };
    return undefined;
  }
  const { wrong, end } = examined;
  for (const place of wrong) yield damageOf(path, place, "the payload does not match its sum");
  if (indexProblem !== undefined) yield damageOf(indexPathOf(found), NOWHERE, indexProblem);
  if (typeof index === "string" && next !== undefined) {
    yield { kind: "note", path: indexPathOf(found), what: `${index}; the next start writes it` };
  }
  const decision = decideTail({
    mode: "MAPPED",
    format: format.name,
    sealed: header !== undefined,
    shape: tailShape(examined.stop, examined.tailBytes),
    belowFloor: end.offset < durable,
    successor: successorOf(end.offset, next?.baseOffset),
  });
  if (decision.action === "refuse") yield damageOf(path, end, decision.meaning);
  else if (decision.action !== "keep") {
    const bytes = examined.tailBytes;
    const what = `${counted(bytes, "byte")} from position ${end.position} on: no part of the log, or being written now: ${decision.meaning}`;
    yield { kind: "note", path, what };
  }
  yield { kind: "segment", path, records: end.offset - found.baseOffset, bytes: end.position };
  return {
    found,
    examined,
    broken: decision.action === "refuse" ? decision.meaning : undefined,
    torn: decision.action === "cut",
    indexIsGood: header !== undefined && indexProblem === undefined,
  };
}

const NOWHERE: Place = { position: -1, offset: -1 };

const damageOf = (path: string, { position, offset }: Place, what: string): Finding => ({
  kind: "damage",
  path,
  position,
  offset,
  what,
});

function marksOf(found: FoundSegment, checkpoint: Checkpoint | undefined): readonly Place[] {
  if (checkpoint?.segmentBase !== found.baseOffset || checkpoint.position === 0) return [];
  return [{ position: checkpoint.position, offset: checkpoint.durableOffset }];
}

/** The partitions in a directory: itself, or those of a broker's data directory, by name. */
export async function findPartitionDirs(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  if (entries.some(({ name }) => isPartitionFile(name))) return [dir];
  const found: string[] = [];
  for (const entry of entries) {
    if (!entry.isDirectory()) continue;
    const path = join(dir, entry.name);
    if ((await readdir(path)).some(isPartitionFile)) found.push(path);
  }
  return found.sort();
}

const isPartitionFile = (name: string): boolean => name === META_FILE || classifyFile(name).kind === "log";
