// Carries out what recovery-plan.ts decided. Every step can be repeated: a start that is cut off anywhere in here is followed
// by one that finds the rest to do.
//
//   1  leftovers are removed                       cut off: they are found again
//   2  torn bytes are copied to `.torn` files      cut off: half a copy is a leftover; a whole one is recognised
//   3  the checkpoint gets the new epoch           cut off: the next start cuts, and raises it once more; nobody is misled by a
//                                                  number that was skipped. After the cut instead, a start cut off between
//                                                  the two would find a clean end, and readers would never hear of it
//   4  segments behind the end are moved away, the last one first, and the directory is forced
//                                                  cut off: the ones left are behind a gap, which is found again
//   5  segments are cut to their records, forced   cut off: the same tail is found again, or zeros
//   6  sealed ones get their `.index`, oldest first
//                                                  cut off: they are scanned again

import { counted } from "../model/plural.js";
import { native } from "../native/binding.js";
import { bootDigits } from "./checkpoint.js";
import type { CheckpointFile } from "./checkpoint-file.js";
import { cutSegment } from "./cut-segment.js";
import { currentEpoch, type EpochEntry, raiseEpoch } from "./epochs.js";
import type { StorageEvent } from "./events.js";
import type { PartitionOptions, StorageDeps } from "./options.js";
import type { FoundFiles, FoundSegment } from "./partition-files.js";
import { removeLeftovers, withoutRetired } from "./recovery-leftovers.js";
import { planRecovery, type RecoveryPlan, type SegmentPlan } from "./recovery-plan.js";
import type { RecoveryReport } from "./recovery-report.js";
import { Segment } from "./segment.js";
import { writeIndex } from "./segment-store.js";
import type { StoredFormat } from "./stored-format.js";
import { copyTorn, moveTorn, tornNames } from "./torn-files.js";

export interface Recovered {
  readonly segments: readonly Segment[];
  readonly epochs: readonly EpochEntry[];
  readonly report: RecoveryReport;
}

/** Rejects PartitionDamagedError with nothing changed, or STORAGE_FAILURE. `files` has at least one segment. */
export async function recover(
  dir: string,
  files: FoundFiles,
  checkpoint: CheckpointFile,
  format: StoredFormat,
  options: PartitionOptions,
  deps: StorageDeps,
): Promise<Recovered> {
  const startedAt = deps.clock.now();
  const last = checkpoint.last;
  const { kept, retired } = withoutRetired(dir, files.segments, last);
  const plan = await planRecovery(kept, last, format, options);
  const tell = (event: StorageEvent): void => deps.log(event);

  await removeLeftovers(dir, [...files.leftovers, ...retired], tell);
  const clean = plan.segments.every(({ index }) => index === undefined) || isNew(kept, last !== undefined);
  const torn = await copyTails(dir, plan, tell);
  const epochs = clean
    ? (last?.epochs ?? [])
    : epochsAfter(plan, last?.epochs ?? [], bootDigits(deps.bootId), last?.bootId);
  const epochRaised = currentEpoch(epochs) > currentEpoch(last?.epochs ?? []);
  if (!clean) await writeCheckpoint(dir, checkpoint, plan, epochs, deps);
  if (epochRaised) {
    const { epoch, start } = epochs[epochs.length - 1];
    const message = `${dir} is in epoch ${epoch} from offset ${start} on`;
    tell({ kind: "epoch.raised", level: "warn", dir, message, epoch, epochStart: start });
  }
  torn.push(...(await moveBehind(dir, plan, tell)));
  for (const segment of plan.segments) await cutToRecords(segment, segment === plan.segments.at(-1));
  const segments = await toSegments(plan, deps, tell, dir);

  const report: RecoveryReport = {
    clean,
    segments: segments.length,
    scannedBytes: plan.scannedBytes,
    milliseconds: Math.max(0, deps.clock.now() - startedAt),
    tornBytes: torn.reduce((sum, { bytes }) => sum + bytes, 0),
    tornFiles: torn.map(({ path }) => path),
    indexesRebuilt: plan.segments.slice(0, -1).filter(({ index }) => index !== undefined).length,
    epochRaised,
  };
  if (!clean) tellReport(dir, report, tell);
  return { segments, epochs, report };
}

/** Made, and never opened for writing: an empty segment and no checkpoint. */
const isNew = (segments: readonly FoundSegment[], hasCheckpoint: boolean): boolean =>
  !hasCheckpoint && segments.every(({ bytes }) => bytes === 0);

/**
 * The epoch goes up when records were cut. It also goes up when the machine was started anew since the log was opened for
 * writing: a power cut that takes pages and leaves zeros, or a shorter file, leaves no torn record either, and a reader that
 * has seen what is gone must hear of it all the same. When nothing was lost nobody is above the new epoch's start.
 */
function epochsAfter(
  plan: RecoveryPlan,
  epochs: readonly EpochEntry[],
  bootId: string,
  bootIdThen: string | undefined,
): readonly EpochEntry[] {
  const { endOffset, decision } = plan.segments[plan.segments.length - 1];
  const sameBoot = bootId !== "" && bootId === bootIdThen;
  return decision.raisesEpoch || !sameBoot ? raiseEpoch(epochs, endOffset) : epochs;
}

interface Torn {
  readonly path: string;
  readonly bytes: number;
}

async function copyTails(dir: string, plan: RecoveryPlan, tell: (event: StorageEvent) => void): Promise<Torn[]> {
  const torn: Torn[] = [];
  for (const { found, decision, end, endOffset, tailBytes } of plan.segments) {
    if ((decision.action !== "cut" && decision.action !== "trim") || tailBytes === 0) continue;
    const movedTo = await copyTorn(dir, found, end, tailBytes);
    torn.push({ path: movedTo, bytes: tailBytes });
    const message =
      `${found.path}: ${counted(tailBytes, "byte")} from position ${end} (offset ${endOffset}) on moved to ${tornNames([movedTo])}: ` +
      decision.meaning;
    const place = { path: found.path, position: end, offset: endOffset, bytes: tailBytes, movedTo };
    tell({
      kind: decision.action === "cut" ? "recovery.torn" : "recovery.trimmed",
      level: "warn",
      dir,
      message,
      ...place,
    });
  }
  return torn;
}

async function writeCheckpoint(
  dir: string,
  checkpoint: CheckpointFile,
  plan: RecoveryPlan,
  epochs: readonly EpochEntry[],
  deps: StorageDeps,
): Promise<void> {
  const { found, endOffset, end } = plan.segments[plan.segments.length - 1];
  // The scan forced the files and then read them from the disk. Their names must be there as well: a segment that was rolled
  // to just before the kill may still be called `next.tmp` after a power cut, and the checkpoint would miss its records.
  await native.syncDirectory(dir);
  await checkpoint.write({
    durableOffset: endOffset,
    segmentBase: found.baseOffset,
    position: end,
    logStartOffset: plan.segments[0].found.baseOffset,
    bootId: bootDigits(deps.bootId),
    epochs,
  });
}

async function moveBehind(dir: string, plan: RecoveryPlan, tell: (event: StorageEvent) => void): Promise<Torn[]> {
  const torn: Torn[] = [];
  for (const segment of plan.behind.toReversed()) {
    if (segment.bytes === 0) {
      await native.unlinkFile(segment.path);
      continue;
    }
    const movedTo = await moveTorn(dir, segment);
    torn.push({ path: movedTo, bytes: segment.bytes });
    const message = `${segment.path} lies behind the end of the log and was moved to ${tornNames([movedTo])}`;
    const place = { path: segment.path, position: 0, offset: segment.baseOffset, bytes: segment.bytes, movedTo };
    tell({ kind: "recovery.torn", level: "warn", dir, message, ...place });
  }
  if (plan.behind.length > 0 || plan.segments.some(({ tailBytes }) => tailBytes > 0)) await native.syncDirectory(dir);
  return torn;
}

/**
 * What is cut is gone for good: no stale byte may come back as a record behind others that took its place. So what may lie behind the last segment,
 * which grows, is cleared at every unclean start, not only when the epoch goes up: the start that raised it may have been cut off before this.
 */
async function cutToRecords({ found, end, index }: SegmentPlan, clear: boolean): Promise<void> {
  if (index === undefined || (found.bytes === end && !clear)) return;
  await cutSegment(found.path, end, clear);
}

async function toSegments(
  plan: RecoveryPlan,
  deps: StorageDeps,
  tell: (event: StorageEvent) => void,
  dir: string,
): Promise<Segment[]> {
  const segments: Segment[] = [];
  for (const [at, each] of plan.segments.entries()) {
    const segment = new Segment(each.found.baseOffset, each.found.path);
    segment.endOffset = each.endOffset;
    segment.bytes = each.end;
    segment.allocatedBytes = each.found.allocatedBytes;
    segments.push(segment);
    const header = each.found.index;
    segment.index = each.index;
    segment.indexed = each.index === undefined;
    if (typeof header !== "string" && header.records === each.endOffset - segment.baseOffset) {
      segment.firstAppendMs = header.firstAppendMs;
      segment.lastAppendMs = header.lastAppendMs;
      continue;
    }
    if (segment.bytes > 0) segment.lastAppendMs = firstAppendOf(behind(plan, at)) ?? deps.clock.now();
    if (at < plan.segments.length - 1 && typeof header === "string")
      await rebuildIndex(segment, each, header, deps, tell, dir);
  }
  return segments;
}

/**
 * The first append that is known of the segments behind one, for one that nobody knows when it was written last: not after
 * those behind it, and not after now. Too late a time keeps a
 * segment longer, too early a one would hide records from a reader that starts at a time. Times of files do not count: the
 * next one is prepared long before it is written, and what is copied into a mapped page that is dirty already leaves no time.
 */
export function firstAppendOf(behind: readonly FoundSegment[]): number | undefined {
  for (const { index } of behind) if (typeof index !== "string" && index.firstAppendMs > 0) return index.firstAppendMs;
  return undefined;
}

const behind = ({ segments }: RecoveryPlan, at: number): FoundSegment[] =>
  segments.slice(at + 1).map(({ found }) => found);

async function rebuildIndex(
  segment: Segment,
  { index }: SegmentPlan,
  reason: string,
  deps: StorageDeps,
  tell: (event: StorageEvent) => void,
  dir: string,
): Promise<void> {
  if (index === undefined) return;
  const { path } = segment;
  try {
    await writeIndex(segment, index, 0);
    deps.indexCache.admit(segment, index);
    tell({
      kind: "index.rebuilt",
      level: "info",
      dir,
      message: `the index of ${path} was rebuilt: ${reason}`,
      path,
      reason,
    });
  } catch (cause) {
    const message = `the index of ${path} could not be written; it stays in memory, and the next start scans the segment`;
    tell({ kind: "index.write-failed", level: "warn", dir, message, path, cause });
  }
}

function tellReport(dir: string, report: RecoveryReport, tell: (event: StorageEvent) => void): void {
  const { scannedBytes, milliseconds, tornBytes, tornFiles } = report;
  const moved = tornBytes === 0 ? "nothing was cut" : `moved ${counted(tornBytes, "byte")} to ${tornNames(tornFiles)}`;
  const message = `${dir} was recovered: ${counted(scannedBytes, "byte")} read in ${milliseconds} ms, ${moved}`;
  tell({
    kind: "recovery.finished",
    level: tornBytes > 0 ? "warn" : "info",
    dir,
    message,
    scannedBytes,
    milliseconds,
    tornBytes,
  });
}
