// From a directory to a partition that can be written and read: takes its lock, makes it or recovers it.
//
// Making one: partition.json first, then the empty first segment, then the directory is forced. Cut off in between, the next
// start finds partition.json and no segment, and goes on from there. The checkpoint comes with the first write.

import { join } from "node:path";
import { MillraceError } from "../model/errors.js";
import { SEGMENT_BYTES_MAX } from "../model/limits.js";
import { type DirectoryLock, native } from "../native/binding.js";
import { readBootId } from "./boot-id.js";
import { CheckpointFile } from "./checkpoint-file.js";
import { PartitionDamagedError } from "./damage.js";
import { makeDirectory } from "./make-directory.js";
import type { PartitionOptions, StorageDeps } from "./options.js";
import { type FoundFiles, findFiles } from "./partition-files.js";
import { readMeta, settleFormat, writeMeta } from "./partition-meta.js";
import { PartitionState } from "./partition-state.js";
import { recover } from "./recovery.js";
import type { RecoveryReport } from "./recovery-report.js";
import { SegmentList } from "./segment-list.js";
import { LOCK_FILE, logName, META_FILE } from "./segment-name.js";
import { type StoredFormat, storedFormat } from "./stored-format.js";

export interface OpenedPartition {
  readonly state: PartitionState;
  readonly report: RecoveryReport;
  readonly lock: DirectoryLock;
}

export async function openPartition(
  dir: string,
  options: PartitionOptions,
  given: StorageDeps,
): Promise<OpenedPartition> {
  checkOptions(options);
  await makeDirectory(dir);
  const lock = lockPartition(dir);
  try {
    const deps = given.bootId === undefined ? { ...given, bootId: await readBootId() } : given;
    const format = await settle(dir, options);
    const checkpoint = await CheckpointFile.open(dir);
    const files = await findOrMakeFiles(dir, checkpoint, deps);
    const { segments, epochs, report } = await recover(dir, files, checkpoint, format, options, deps);
    const list = new SegmentList(segments);
    return { state: new PartitionState(dir, format, options, deps, list, checkpoint, epochs), report, lock };
  } catch (cause) {
    lock.release();
    throw cause;
  }
}

/** For a partition that an embedded log, `verify --repair` and a broker could all want. Throws PARTITION_IN_USE with the holder's pid. */
export function lockPartition(dir: string): DirectoryLock {
  try {
    return native.lockFile(join(dir, LOCK_FILE));
  } catch (cause) {
    const { code, pid } = cause as { code?: unknown; pid?: unknown };
    if (code !== "ELOCKED") throw cause;
    const holder = typeof pid === "number" && pid > 0 ? `process ${pid}` : "another process";
    throw new MillraceError("PARTITION_IN_USE", `${dir} is in use by ${holder}`, { cause });
  }
}

function checkOptions({ segmentBytes, indexIntervalBytes }: PartitionOptions): void {
  const fits = Number.isInteger(segmentBytes) && segmentBytes >= SEGMENT_BYTES_MIN && segmentBytes <= SEGMENT_BYTES_MAX;
  if (!fits) {
    const range = `${SEGMENT_BYTES_MIN} … ${SEGMENT_BYTES_MAX}`;
    throw new MillraceError("BAD_CONFIG", `a segment has ${range} bytes, not ${segmentBytes}`);
  }
  if (!Number.isInteger(indexIntervalBytes) || indexIntervalBytes < 1) {
    throw new MillraceError(
      "BAD_CONFIG",
      `an index interval is a whole number of bytes from 1 on, not ${indexIntervalBytes}`,
    );
  }
}

/** Room for a record of one byte in every format, and a little more, so that arithmetic on windows has something to do. */
const SEGMENT_BYTES_MIN = 64;

async function settle(dir: string, options: PartitionOptions): Promise<StoredFormat> {
  const existing = await readMeta(dir);
  const format = settleFormat(dir, existing, options.recordFormat);
  if (existing === undefined) {
    const { segments } = await findFiles(dir);
    if (segments.length > 0) {
      const path = join(dir, META_FILE);
      throw new PartitionDamagedError(path, -1, -1, "it is missing, so nobody can say how the records beside it lie");
    }
    await writeMeta(dir, format);
  }
  return storedFormat(format);
}

async function findOrMakeFiles(dir: string, checkpoint: CheckpointFile, deps: StorageDeps): Promise<FoundFiles> {
  const files = await findFiles(dir);
  for (const path of files.foreign) {
    deps.log({
      kind: "file.foreign",
      level: "warn",
      dir,
      message: `${path} is not of millrace and was left alone`,
      path,
    });
  }
  const { last, path } = checkpoint;
  if (files.segments.length > 0) {
    if (last === undefined && files.segments.some(({ bytes }) => bytes > 0)) {
      const message = `${path} is missing: everything that is not sealed is read, and a torn record ends the log wherever it is`;
      deps.log({ kind: "checkpoint.missing", level: "warn", dir, message, path });
    }
    return files;
  }
  if (last !== undefined && last.durableOffset > 0) {
    const what = `no segment is there, and everything up to offset ${last.durableOffset} was durable once`;
    throw new PartitionDamagedError(dir, -1, -1, what);
  }
  const first = await native.openFile(join(dir, logName(0)), { writable: true, create: true });
  first.close();
  await native.syncDirectory(dir);
  const { segments } = await findFiles(dir);
  return { ...files, segments };
}
