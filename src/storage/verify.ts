// `millrace verify`: looks at every segment, index and sum of a partition. It reads without the partition's lock, so a broker
// may be writing meanwhile: what it says about the end of the log is how it was at that moment. It changes nothing; what
// follows for a person is repair.ts. One segment is judged by segment-verdict.ts; how things are said is verify-finding.ts.

import { basename, join } from "node:path";
import { native } from "../native/binding.js";
import type { Checkpoint } from "./checkpoint.js";
import { CheckpointFile } from "./checkpoint-file.js";
import { judgeScanned, markIn, misfitByEnd, misfitByNames, misfitByRecords } from "./checkpoint-fit.js";
import { PartitionDamagedError } from "./damage.js";
import { type FoundFiles, type FoundSegment, lookAround, type Unreadable } from "./partition-files.js";
import { readMeta } from "./partition-meta.js";
import { withoutRetired } from "./recovery-leftovers.js";
import { durableFloor } from "./recovery-plan.js";
import { CHECKPOINT_FILE, classifyFile, META_FILE } from "./segment-name.js";
import { judgeSegment, type SegmentVerdict } from "./segment-verdict.js";
import { type StoredFormat, storedFormat } from "./stored-format.js";
import { damageOf, type Finding, NOWHERE, spoiled } from "./verify-finding.js";

export { findPartitionDirs } from "./partition-dirs.js";
export type { Finding } from "./verify-finding.js";

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
    const segment = yield* judgeSegment(found, kept.at(at + 1), floor, checkpoint, format, unreadable);
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
