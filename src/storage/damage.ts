// A partition that refuses to open, and failures of storage as errors that the layers above can tell apart.

import { getSystemErrorName } from "node:util";
import { MillraceError } from "../model/errors.js";

/** Where records that were acknowledged are not what they were. No start-up repairs that. */
export class PartitionDamagedError extends MillraceError {
  override readonly name = "PartitionDamagedError";
  constructor(
    readonly path: string,
    /** Position in that file; −1 where there is none. */
    readonly position: number,
    /** The offset from which on records are missing or wrong; −1 where nobody can say. */
    readonly offset: number,
    /** The message without the place. */
    readonly what: string,
    options?: { cause?: unknown },
  ) {
    const place = position < 0 ? path : `${path}, position ${position}, offset ${offset}`;
    super("PARTITION_DAMAGED", `${place}: ${what}. No record was touched; read what \`millrace verify\` says`, options);
  }
}

/** A write that the addon says has failed. */
export const writeFailed = (path: string, errno: number): Error =>
  Object.assign(new Error(`${getSystemErrorName(-errno)}: a write to ${path} failed`), { errno, path });

export const isMissing = (cause: unknown): boolean => (cause as { code?: unknown } | undefined)?.code === "ENOENT";

/** LOG_FULL, with how much was asked for. */
export class NoRoomError extends MillraceError {
  constructor(
    readonly dir: string,
    readonly neededBytes: number,
    cause?: unknown,
  ) {
    super("LOG_FULL", `no room on the disk of ${dir}; nothing of the batch was kept`, { cause });
  }
}

/** The same where no batch was there: room was to be made ahead. */
export function withoutBatch(cause: unknown): unknown {
  if (!(cause instanceof NoRoomError)) return cause;
  return new MillraceError("LOG_FULL", `no room on the disk of ${cause.dir}`, { cause: cause.cause });
}

export const storageFailure = (what: string, cause?: unknown): MillraceError =>
  new MillraceError("STORAGE_FAILURE", what, { cause });

/** What ends by itself: no room on the disk or for this user, no descriptor, no memory. Nothing was written, so a retry is harmless. */
const PASSING = new Set(["ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "ENOMEM", "EAGAIN"]);

/** Room could not be made: LOG_FULL when that may be otherwise in a moment, else STORAGE_FAILURE. */
export function roomFailure(dir: string, cause: unknown, bytes = 0): MillraceError {
  if (cause instanceof MillraceError) return cause;
  if (PASSING.has(String((cause as { code?: unknown } | undefined)?.code))) return new NoRoomError(dir, bytes, cause);
  return storageFailure(`${dir}: a segment could not be prepared`, cause);
}
