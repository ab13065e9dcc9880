// `millrace verify`: looks at every segment, index and sum of a partition. It reads without the partition's lock, so a broker
// may be writing meanwhile: what it says about the end of the log is how it was at that moment. It changes nothing; what
// follows for a person is repair.ts.

import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { counted } from "../model/plural.js";
import { native } from "../native/binding.js";
import type { Checkpoint } from "./checkpoint.js";
import { CheckpointFile } from "./checkpoint-file.js";
import {
  claimOf,
  judgeScanned,
  markIn,
  misfitByEnd,
  misfitByNames,
  misfitByRecords,
  type Place,
} from "./checkpoint-fit.js";
import { isMissing, PartitionDamagedError } from "./damage.js";
import { type FoundFiles, type FoundSegment, lookAround, readIndexBody, type Unreadable } from "./partition-files.js";
import { readMeta } from "./partition-meta.js";
import { withoutRetired } from "./recovery-leftovers.js";
import { durableFloor } from "./recovery-plan.js";
import { decideTail, successorOf, tailShape } from "./recovery-table.js";
import { CHECKPOINT_FILE, classifyFile, META_FILE } from "./segment-name.js";
import { indexPathOf } from "./segment-store.js";
import { type StoredFormat, storedFormat } from "./stored-format.js";
import { type Examined, examineIndex, examineSegment } from "./verify-segment.js";

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
  | {
      readonly kind: "segment";
      readonly path: string;
      /** Up to where its records end. */
      readonly records: number;
      readonly bytes: number;
      /** Nothing of it is damaged. */
      readonly sound: boolean;
    };

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
  /** It cannot be read, or is not of these segments. */
  readonly checkpointDamaged: boolean;
  /** Up to and with the first that is broken. */
  readonly segments: readonly SegmentVerdict[];
  readonly behind: readonly FoundSegment[];
  /** Files that the system does not let be read: nobody can say what is in them. */
  readonly unreadable: readonly string[];
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
  const unreadable: string[] = [];
  const format = yield* verifyFormat(dir, unreadable);
  const read = yield* verifyCheckpoint(dir, unreadable);
  const files = yield* look(dir, unreadable);
  const { leftovers } = files;
  for (const path of files.foreign) yield { kind: "note", path, what: "not of millrace" };
  const misfit = await misfitOf(files.segments, read.checkpoint, format);
  if (misfit !== undefined) yield damageOf(join(dir, CHECKPOINT_FILE), NOWHERE, misfit);
  // What is known to be wrong judges nothing.
  const checkpoint = misfit === undefined ? read.checkpoint : undefined;
  const verdict = { dir, format, checkpoint: read.checkpoint, checkpointDamaged: read.damaged || misfit !== undefined };
  if (files.segments.length === 0) {
    if (checkpoint !== undefined && checkpoint.durableOffset > 0 && !unreadable.includes(dir)) {
      const what = "no segment is there, and the checkpoint says that there were records";
      yield damageOf(dir, NOWHERE, what);
    }
    return { leftovers, verdict: { ...verdict, segments: [], behind: [], unreadable } };
  }
  let kept = files.segments;
  try {
    ({ kept } = withoutRetired(dir, files.segments, checkpoint));
  } catch (cause) {
    if (!(cause instanceof PartitionDamagedError)) throw cause;
    yield damageOf(dir, { position: -1, offset: kept[0].baseOffset }, cause.what);
  }
  if (format === undefined) return { leftovers, verdict: { ...verdict, segments: [], behind: kept, unreadable } };

  const floor = durableFloor(kept, checkpoint);
  const segments: SegmentVerdict[] = [];
  let behind: readonly FoundSegment[] = [];
  let isCut = false;
  for (const [at, found] of kept.entries()) {
    if (isCut) {
      yield { kind: "note", path: found.path, what: "lies behind the end of the log and was not looked at" };
      continue;
    }
    const isBehind = behind.includes(found);
    if (isBehind) yield { kind: "note", path: found.path, what: "lies behind a break in the log" };
    const segment = yield* verifySegment(found, kept.at(at + 1), floor, checkpoint, format, unreadable);
    if (segment === undefined || isBehind) continue;
    segments.push(segment);
    if (segment.broken === undefined && !segment.torn) continue;
    behind = kept.slice(at + 1);
    isCut = segment.torn;
  }
  const isAll = behind.length === 0 && segments.length === kept.length;
  const end = segments.at(-1)?.examined.end.offset;
  const misplaced = isAll && checkpoint && end !== undefined ? misfitByEnd(kept, checkpoint, end) : undefined;
  if (misplaced !== undefined) yield damageOf(join(dir, CHECKPOINT_FILE), NOWHERE, misplaced);
  const checkpointDamaged = verdict.checkpointDamaged || misplaced !== undefined;
  return { leftovers, verdict: { ...verdict, checkpointDamaged, segments, behind, unreadable } };
}

async function* look(dir: string, unreadable: string[]): AsyncGenerator<Finding, FoundFiles, undefined> {
  const found: Finding[] = [];
  const name = ({ path, cause }: Unreadable): void => {
    found.push(spoiled(path, cause, unreadable));
  };
  const files = await lookAround(dir, name).catch((cause: unknown) => name({ path: dir, cause }));
  yield* found;
  return files ?? { segments: [], leftovers: [], foreign: [] };
}

/** Why a checkpoint is not of these segments, before anything is judged by it. */
async function misfitOf(
  segments: readonly FoundSegment[],
  checkpoint: Checkpoint | undefined,
  format: StoredFormat | undefined,
): Promise<string | undefined> {
  if (checkpoint === undefined || segments.length === 0) return undefined;
  const misnamed = misfitByNames(segments, checkpoint);
  if (misnamed !== undefined) return misnamed;
  const at = segments.findIndex(({ baseOffset }) => baseOffset === checkpoint.segmentBase);
  const segment = segments.at(at);
  const mark = at < 0 || segment === undefined ? undefined : markIn(segment, checkpoint);
  if (segment === undefined || mark === undefined || format === undefined) return undefined;
  try {
    const file = await native.openFile(segment.path, { writable: false });
    try {
      const known = mark.position <= segment.bytes ? mark.position : 0;
      const below = await file.scan(format.id, 0, known, known + 1);
      const next = segments.at(at + 1);
      const { wrong } = await judgeScanned(file, segment, next, mark, below, format, segment.bytes + 1);
      return wrong === "checkpoint" ? misfitByRecords(checkpoint) : undefined;
    } finally {
      file.close();
    }
  } catch {
    // Whatever it is, it is found again and named when the segment is looked at.
    return undefined;
  }
}

async function* verifyFormat(
  dir: string,
  unreadable: string[],
): AsyncGenerator<Finding, StoredFormat | undefined, undefined> {
  const path = join(dir, META_FILE);
  try {
    const name = await readMeta(dir);
    if (name !== undefined) return storedFormat(name);
    yield damageOf(path, NOWHERE, "it is missing, so nobody can say how the records lie");
  } catch (cause) {
    yield spoiled(path, cause, unreadable);
  }
  return undefined;
}

async function* verifyCheckpoint(
  dir: string,
  unreadable: string[],
): AsyncGenerator<Finding, { readonly checkpoint: Checkpoint | undefined; readonly damaged: boolean }, undefined> {
  try {
    return { checkpoint: (await CheckpointFile.open(dir)).last, damaged: false };
  } catch (cause) {
    yield spoiled(join(dir, CHECKPOINT_FILE), cause, unreadable);
    return { checkpoint: undefined, damaged: true };
  }
}

/** What cannot be used, because of what it says or because it cannot be read. */
function spoiled(path: string, cause: unknown, unreadable: string[]): Finding {
  if (cause instanceof PartitionDamagedError) return damageOf(cause.path, NOWHERE, cause.what);
  unreadable.push(path);
  return unreadableOf(path, cause);
}

async function* verifySegment(
  found: FoundSegment,
  next: FoundSegment | undefined,
  floor: number,
  checkpoint: Checkpoint | undefined,
  format: StoredFormat,
  unreadable: string[],
): AsyncGenerator<Finding, SegmentVerdict | undefined, undefined> {
  const { index, path } = found;
  const durable = Math.min(floor, next?.baseOffset ?? Number.POSITIVE_INFINITY);
  const header = typeof index === "string" ? undefined : index;
  const mark = markIn(found, checkpoint);
  if (unreadable.includes(path)) return undefined;
  let examined: Examined;
  let indexProblem: string | undefined;
  let spoiledIndex: Finding | undefined;
  const indexPath = indexPathOf(found);
  try {
    const file = await native.openFile(path, { writable: false });
    try {
      const endOffset = next?.baseOffset ?? (header === undefined ? undefined : found.baseOffset + header.records);
      examined = await examineSegment(file, found, format, mark, endOffset, durable);
      if (header !== undefined) {
        const entries = await readIndexBody(found, header).catch((cause: unknown) => {
          spoiledIndex = spoiled(indexPath, cause, unreadable);
        });
        indexProblem = await examineIndex(file, found, entries ?? undefined, format);
      }
    } finally {
      file.close();
    }
  } catch (cause) {
    if (isMissing(cause)) yield { kind: "note", path, what: "was removed while it was looked at" };
    else yield spoiled(path, cause, unreadable);
    return undefined;
  }
  const { wrong, end } = examined;
  for (const place of wrong) yield damageOf(path, place, "the payload does not match its sum");
  if (spoiledIndex !== undefined) yield spoiledIndex;
  else if (indexProblem !== undefined) yield damageOf(indexPath, NOWHERE, indexProblem);
  if (typeof index === "string" && next !== undefined && !unreadable.includes(indexPath)) {
    yield { kind: "note", path: indexPath, what: `${index}; the next start writes it` };
  }
  const decision = decideTail({
    mode: "MAPPED",
    format: format.name,
    sealed: header !== undefined,
    shape: tailShape(examined.stop, examined.tailBytes),
    belowFloor: end.offset < durable,
    successor: successorOf(end.offset, next?.baseOffset),
  });
  const broken = examined.why ?? (decision.action === "refuse" ? decision.meaning : undefined);
  if (broken !== undefined) yield damageOf(path, end, broken);
  else if (decision.action !== "keep") {
    const bytes = examined.tailBytes;
    const what = `${counted(bytes, "byte")} from position ${end.position} (offset ${end.offset}) on: no part of the log, or being written now: ${decision.meaning}`;
    yield { kind: "note", path, what };
  }
  if (broken !== undefined && checkpoint !== undefined && isAbove(checkpoint, found, examined)) {
    const what = `${claimOf(checkpoint)}; if nothing was taken away there, it is of another partition`;
    yield { kind: "note", path: join(dirname(path), CHECKPOINT_FILE), what };
  }
  const sound = broken === undefined && wrong.length === 0;
  yield { kind: "segment", path, records: end.offset - found.baseOffset, bytes: end.position, sound };
  return {
    found,
    examined,
    broken,
    torn: broken === undefined && decision.action === "cut",
    indexIsGood: header !== undefined && indexProblem === undefined,
  };
}

/** The records end soundly, and the checkpoint claims more of them. */
const isAbove = (
  { segmentBase, durableOffset }: Checkpoint,
  found: FoundSegment,
  { end, tailBytes }: Examined,
): boolean => tailBytes === 0 && segmentBase >= found.baseOffset && durableOffset > end.offset;

const NOWHERE: Place = { position: -1, offset: -1 };

const damageOf = (path: string, { position, offset }: Place, what: string): Finding => ({
  kind: "damage",
  path,
  position,
  offset,
  what,
});

const unreadableOf = (path: string, cause: unknown): Finding =>
  damageOf(path, NOWHERE, `it cannot be read: ${(cause as Error).message}`);

/** The partitions in a directory: itself, or those of a broker's data directory, by name. */
export async function findPartitionDirs(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  if (entries.some(({ name }) => isPartitionFile(name))) return [dir];
  const found: string[] = [];
  for (const entry of entries) {
    if (!entry.isDirectory() && !entry.isSymbolicLink()) continue;
    const path = join(dir, entry.name);
    if (await isPartitionDir(path)) found.push(path);
  }
  return found.sort();
}

/** One that cannot be read counts by its name, or nobody would hear of it. */
async function isPartitionDir(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).some(isPartitionFile);
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    return code !== "ENOTDIR" && code !== "ENOENT" && /-\d+$/.test(path);
  }
}

const isPartitionFile = (name: string): boolean => name === META_FILE || classifyFile(name).kind === "log";
