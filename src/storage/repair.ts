// `millrace verify --repair`: makes a partition open again that refuses to, after a person has read what verify says. It takes
// the partition's lock. What it gives up:
//
// - a payload that does not match its sum, where the records around it are in place: nothing. The record stays, its readers
//   are told, and those who skip it go on. Dropping all that came after it would be the greater loss.
// - where the chain of records is broken, or a segment is missing: everything from there on. It is moved to `.torn` files,
//   and the epoch goes up, so that readers who were further hear of it. No byte is thrown away but zeros at a file's end.
// - indexes and the checkpoint: nothing, they are made again. Which epoch it was is lost with the checkpoint; the new one is
//   the number of minutes since 1970, above what any number of recoveries can have counted up to.
//
// - what the system does not let be read: nothing is done to that partition. Who mends the disk can repair it then.
//
// It can be repeated when it was cut off, as a recovery can, and in the same order of steps.

import { copyFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../model/clock.js";
import { counted } from "../model/plural.js";
import { native } from "../native/binding.js";
import { bootDigits } from "./checkpoint.js";
import { CheckpointFile } from "./checkpoint-file.js";
import { type EpochEntry, raiseEpoch } from "./epochs.js";
import type { FoundSegment } from "./partition-files.js";
import { lockPartition } from "./partition-opening.js";
import { firstAppendOf } from "./recovery.js";
import { Segment } from "./segment.js";
import { logName, nextName } from "./segment-name.js";
import { indexPathOf, writeIndex } from "./segment-store.js";
import type { SegmentVerdict } from "./segment-verdict.js";
import { copyTorn, moveTorn } from "./torn-files.js";
import { type Finding, type PartitionVerdict, verifyPartition } from "./verify.js";

export type RepairStep =
  | Finding
  | { readonly kind: "repaired"; readonly path: string; readonly what: string }
  /** What no program can decide. */
  | { readonly kind: "unrepaired"; readonly path: string; readonly what: string };

/** Verifies, and repairs what it can. Rejects PARTITION_IN_USE. */
export async function* repairPartition(dir: string, clock: Clock): AsyncGenerator<RepairStep, void, undefined> {
  const lock = lockPartition(dir);
  try {
    const verdict = yield* verifyPartition(dir);
    if (verdict.unreadable.length > 0) {
      for (const path of verdict.unreadable) {
        yield {
          kind: "unrepaired",
          path,
          what: "it cannot be read, so its partition is left as it is; the disk first",
        };
      }
      return;
    }
    if (verdict.format === undefined) {
      const what = "write partition.json by hand, if you know whether the records are plain or crc32c";
      yield { kind: "unrepaired", path: dir, what };
      return;
    }
    if (verdict.segments.length === 0) {
      if (verdict.checkpoint === undefined && !verdict.checkpointDamaged) return;
      yield { kind: "unrepaired", path: dir, what: "there is no segment; remove the directory to begin anew" };
      return;
    }
    yield* repairOrSay(verdict, clock);
  } finally {
    lock.release();
  }
}

/** Other partitions must not wait for this one's disk. */
async function* repairOrSay(verdict: PartitionVerdict, clock: Clock): AsyncGenerator<RepairStep, void, undefined> {
  try {
    yield* repairLog(verdict, clock);
  } catch (cause) {
    if (!(cause instanceof Error) || !("code" in cause)) throw cause;
    const what = `the repair was cut off and can be repeated, nothing was lost: ${cause.message}`;
    yield { kind: "unrepaired", path: verdict.dir, what };
  }
}

async function* repairLog(verdict: PartitionVerdict, clock: Clock): AsyncGenerator<RepairStep, void, undefined> {
  const { dir, segments, behind, checkpointDamaged, checkpoint } = verdict;
  const last = segments[segments.length - 1];
  const cuts = last.broken !== undefined;
  const keepsWrong = last.examined.wrong.length > 0;
  const startMoved =
    !checkpointDamaged && checkpoint !== undefined && checkpoint.logStartOffset !== segments[0].found.baseOffset;
  // An index holds for a file of its size. The last segment gets none, unless it must be trusted with what is wrong in it.
  const sealed = segments.filter((segment) => (segment === last ? keepsWrong : !segment.indexIsGood));
  const ended = cuts && !keepsWrong ? [...sealed, last] : sealed;
  for (const segment of ended) yield* moveTail(dir, segment);
  if (cuts || keepsWrong || checkpointDamaged || startMoved) {
    yield* renewCheckpoint(verdict, cuts || (keepsWrong && last.examined.tailBytes > 0), clock);
  }
  if (cuts) {
    for (const segment of behind.toReversed()) {
      yield { kind: "repaired", path: segment.path, what: `moved to ${await moveTorn(dir, segment)}` };
      await native.unlinkFile(indexPathOf(segment)).catch(() => undefined);
    }
    await native.syncDirectory(dir);
  }
  for (const segment of ended) await cut(segment);
  for (const segment of sealed) yield* seal(segment, verdict, clock);
  if (keepsWrong) yield* startBehind(dir, last);
  // It is scanned by the next start, which writes its index when it is closed; unless that start would refuse it.
  else if (cuts || !last.indexIsGood) await native.unlinkFile(indexPathOf(last.found)).catch(() => undefined);
}

async function* seal(
  segment: SegmentVerdict,
  { segments, behind }: PartitionVerdict,
  clock: Clock,
): AsyncGenerator<RepairStep, void, undefined> {
  const { index, wrong } = segment.examined;
  const later = [...segments.slice(segments.indexOf(segment) + 1).map(({ found }) => found), ...behind];
  await writeIndex(toSegment(segment, later, clock), index, 0);
  const kept = wrong.length === 0 ? "" : `; with wrong sums, and staying in place: ${counted(wrong.length, "record")}`;
  yield { kind: "repaired", path: indexPathOf(segment.found), what: `written${kept}` };
}

/** Sealed and not the last one, a segment is trusted; the log goes on in a segment of its own. */
async function* startBehind(dir: string, last: SegmentVerdict): AsyncGenerator<RepairStep, void, undefined> {
  const next = join(dir, logName(last.examined.end.offset));
  (await native.openFile(next, { writable: true, create: true })).close();
  await native.syncDirectory(dir);
  const what = "made, so that the log goes on behind the segment with the wrong records";
  yield { kind: "repaired", path: next, what };
}

async function* moveTail(dir: string, last: SegmentVerdict): AsyncGenerator<RepairStep, void, undefined> {
  const { found, examined } = last;
  if (examined.tailBytes === 0) return;
  const path = await copyTorn(dir, found, examined.end.position, examined.tailBytes);
  const what = `${counted(examined.tailBytes, "byte")} from position ${examined.end.position} (offset ${examined.end.offset}) on moved to ${path}`;
  yield { kind: "repaired", path: found.path, what };
}

async function* renewCheckpoint(
  verdict: PartitionVerdict,
  cuts: boolean,
  clock: Clock,
): AsyncGenerator<RepairStep, void, undefined> {
  const { dir, checkpoint, checkpointDamaged, segments } = verdict;
  const { found, examined } = segments[segments.length - 1];
  const file = checkpointDamaged ? CheckpointFile.fresh(dir) : await CheckpointFile.open(dir);
  const epochs = epochsAfter(verdict, cuts, clock);
  const bytes = await native.openFile(found.path, { writable: true });
  try {
    await bytes.sync();
  } finally {
    bytes.close();
  }
  await file.write({
    durableOffset: examined.end.offset,
    segmentBase: found.baseOffset,
    position: examined.end.position,
    logStartOffset: segments[0].found.baseOffset,
    bootId: bootDigits(checkpoint?.bootId),
    epochs,
  });
  const epoch = epochs.at(-1)?.epoch ?? 0;
  yield {
    kind: "repaired",
    path: file.path,
    what: `written: durable up to offset ${examined.end.offset}, epoch ${epoch}${checkpointDamaged ? EPOCH_LOST : ""}`,
  };
}

const MS_PER_MINUTE = 60_000;
const EPOCH_LOST =
  " (the minutes since 1970: which epoch it was is lost with the checkpoint, and this number is above whatever it was)";

function epochsAfter(verdict: PartitionVerdict, cuts: boolean, clock: Clock): readonly EpochEntry[] {
  const end = verdict.segments[verdict.segments.length - 1].examined.end.offset;
  if (verdict.checkpointDamaged) return [{ epoch: Math.floor(clock.now() / MS_PER_MINUTE), start: end }];
  const epochs = verdict.checkpoint?.epochs ?? [];
  return cuts ? raiseEpoch(epochs, end) : epochs;
}

async function cut({ found, examined }: SegmentVerdict): Promise<void> {
  if (found.bytes === examined.end.position) return;
  await unshare(found.path);
  const file = await native.openFile(found.path, { writable: true });
  try {
    await file.truncate(examined.end.position);
    await file.sync();
  } finally {
    file.close();
  }
}

/** A segment that a backup links has two names. What is cut here, and written behind the cut, must not be so there. */
async function unshare(path: string): Promise<void> {
  if ((await stat(path)).nlink === 1) return;
  const own = join(dirname(path), nextName(0));
  await copyFile(path, own);
  const file = await native.openFile(own, { writable: true });
  try {
    await file.sync();
  } finally {
    file.close();
  }
  await native.renameFile(own, path);
  await native.syncDirectory(dirname(path));
}

function toSegment({ found, examined }: SegmentVerdict, behind: readonly FoundSegment[], clock: Clock): Segment {
  const { index } = found;
  const segment = new Segment(found.baseOffset, found.path);
  segment.endOffset = examined.end.offset;
  segment.bytes = examined.end.position;
  if (typeof index !== "string" && index.records === segment.endOffset - segment.baseOffset) {
    segment.firstAppendMs = index.firstAppendMs;
    segment.lastAppendMs = index.lastAppendMs;
  } else if (segment.bytes > 0) {
    segment.lastAppendMs = firstAppendOf(behind) ?? clock.now();
  }
  return segment;
}
