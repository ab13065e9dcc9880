// Brings one partition into a backup: sealed segments as links where that can be, everything else as copies that are forced and
// read again. The partition's directory has another name until it is whole.

import { copyFile, link, mkdir, open } from "node:fs/promises";
import { basename, join } from "node:path";
import { native, ScanStop } from "../../native/binding.js";
import { CheckpointFile } from "../../storage/checkpoint-file.js";
import { isMissing } from "../../storage/damage.js";
import { writeMeta } from "../../storage/partition-meta.js";
import { indexPathOf } from "../../storage/segment-store.js";
import { Failed } from "../failure.js";
import { Moved, type PartitionPlan, type TakenSegment } from "./plan.js";

/** What became of a partition. */
export interface Copied {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly segments: number;
  readonly linkedBytes: number;
  readonly copiedBytes: number;
  /** Written behind the end and not forced yet when it was the partition's turn. */
  readonly leftOutRecords: number;
}

export interface CopyOptions {
  /** Sealed segments are linked where the file system can. */
  readonly links: boolean;
  /** So many bytes more are in the backup. Throws when nobody wants it any more. */
  readonly onBytes: (bytes: number) => void;
}

/** A partition's directory is called so until all of it is there: no broker takes it for one. */
export const PARTIAL = ".partial";
const CHUNK_BYTES = 1024 * 1024;
const INDEX_INTERVAL_BYTES = 4096;

/** Fills `target`, which is not there. Throws {@link Moved} when the last segment went away. */
export async function copyPartition(plan: PartitionPlan, target: string, options: CopyOptions): Promise<Copied> {
  const { segments, endOffset, format } = plan;
  await mkdir(target);
  const bytes = { linked: 0, copied: 0 };
  let first: TakenSegment | undefined;
  // The newest first: retention removes the oldest, so one that is gone is where the backup begins, and there is no hole.
  for (const segment of segments.toReversed()) {
    try {
      const linked = options.links && segment.isFinal && (await linkSegment(segment, target));
      if (linked) options.onBytes(segment.bytes);
      else await copySegment(segment, target, plan, options);
      bytes[linked ? "linked" : "copied"] += segment.bytes;
    } catch (cause) {
      if (!isMissing(cause)) throw cause;
      if (first === undefined) throw new Moved();
      break;
    }
    first = segment;
  }
  if (first === undefined) throw new Moved();
  await writeMeta(target, format.name);
  const last = segments[segments.length - 1];
  // No boot is named: whoever starts on it counts that as a loss of power and raises the epoch, so that readers who saw more of
  // the original than there is here hear of it.
  await CheckpointFile.fresh(target).write({
    durableOffset: endOffset,
    segmentBase: last.baseOffset,
    position: last.bytes,
    logStartOffset: first.baseOffset,
    bootId: "",
    epochs: plan.epochs,
  });
  await native.syncDirectory(target);
  return {
    startOffset: first.baseOffset,
    endOffset,
    segments: segments.length - segments.indexOf(first),
    linkedBytes: bytes.linked,
    copiedBytes: bytes.copied,
    leftOutRecords: plan.leftOutRecords,
  };
}

/** The file system, or the two of them, take no link: another one, one without links, or one that has too many. */
const NO_LINK = new Set(["EXDEV", "EPERM", "EMLINK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EACCES"]);

/** Whether it is there now. Its index is replaced and never changed, so that is linked as well. */
async function linkSegment(segment: TakenSegment, target: string): Promise<boolean> {
  const path = join(target, basename(segment.path));
  try {
    await link(segment.path, path);
  } catch (cause) {
    if (NO_LINK.has(String((cause as { code?: unknown }).code))) return false;
    throw cause;
  }
  try {
    await link(indexPathOf(segment), indexPathOf({ path }));
  } catch (cause) {
    // Retention takes the index first. Without it a start scans the segment.
    if (!isMissing(cause)) throw cause;
  }
  return true;
}

async function copySegment(
  segment: TakenSegment,
  target: string,
  { format }: PartitionPlan,
  { onBytes }: CopyOptions,
): Promise<void> {
  const path = join(target, basename(segment.path));
  await copyBytes(segment, path, onBytes);
  if (segment.isWhole) await copyIndex(segment, path);
  const file = await native.openFile(path, { writable: false });
  try {
    const scan = await file.scan(format.id, 0, segment.bytes, INDEX_INTERVAL_BYTES);
    const isWhole = scan.stop === ScanStop.END && scan.records === segment.endOffset - segment.baseOffset;
    if (isWhole) return;
    const place = `position ${scan.end}, offset ${segment.baseOffset + scan.records}`;
    throw new Failed(`${segment.path} is damaged: ${place}`, ["`millrace verify` says more; nothing was kept"]);
  } finally {
    file.close();
  }
}

/** The first bytes of the file, forced. */
async function copyBytes({ path, bytes }: TakenSegment, to: string, onBytes: (bytes: number) => void): Promise<void> {
  const source = await open(path, "r");
  try {
    const copy = await open(to, "wx");
    try {
      const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, Math.max(bytes, 1)));
      for (let at = 0; at < bytes; ) {
        const { bytesRead } = await source.read(chunk, 0, Math.min(chunk.length, bytes - at), at);
        if (bytesRead === 0) throw new Failed(`${path} ends at position ${at}, and ${bytes} bytes of it are the log's`);
        await copy.writeFile(chunk.subarray(0, bytesRead));
        at += bytesRead;
        onBytes(bytesRead);
      }
      await copy.sync();
    } finally {
      await copy.close();
    }
  } finally {
    await source.close();
  }
}

async function copyIndex(segment: TakenSegment, copy: string): Promise<void> {
  const to = indexPathOf({ path: copy });
  try {
    await copyFile(indexPathOf(segment), to);
  } catch (cause) {
    if (isMissing(cause)) return;
    throw cause;
  }
  const file = await native.openFile(to, { writable: true });
  try {
    await file.sync();
  } finally {
    file.close();
  }
}
