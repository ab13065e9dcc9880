// Judges one segment of a partition: what examining its records and its index found, what a start would do with its tail, and
// whether the log can go on behind it. It must not know what becomes of the segments behind.

import { dirname, join } from "node:path";
import { counted } from "../model/plural.js";
import { native } from "../native/binding.js";
import type { Checkpoint } from "./checkpoint.js";
import { claimOf, markIn } from "./checkpoint-fit.js";
import { isMissing } from "./damage.js";
import { type FoundSegment, readIndexBody } from "./partition-files.js";
import { decideTail, successorOf, tailShape } from "./recovery-table.js";
import { CHECKPOINT_FILE } from "./segment-name.js";
import { indexPathOf } from "./segment-store.js";
import type { StoredFormat } from "./stored-format.js";
import { damageOf, type Finding, NOWHERE, spoiled } from "./verify-finding.js";
import { type Examined, examineIndex, examineSegment } from "./verify-segment.js";

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

/** Yields what it finds. Undefined: it is gone, or the system does not let it be read, which is said and put into `unreadable`. */
export async function* judgeSegment(
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
