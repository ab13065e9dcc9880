// `partition.json`: what is fixed when a partition is made. Written once, before its first segment, so that nobody ever has
// to guess how the records beside it lie.
//
//   {"version": 1, "recordFormat": "crc32c"}

import { join } from "node:path";
import { MillraceError } from "../model/errors.js";
import type { RecordFormat } from "../model/record-format.js";
import { native } from "../native/binding.js";
import { isMissing, PartitionDamagedError } from "./damage.js";
import { META_FILE } from "./segment-name.js";
import { readSmallFile } from "./small-file.js";
import { isRecordFormat } from "./stored-format.js";

const VERSION = 1;

/** Undefined when there is none. Rejects PARTITION_DAMAGED when it does not say what it must. */
export async function readMeta(dir: string): Promise<RecordFormat | undefined> {
  const path = join(dir, META_FILE);
  let text: string;
  try {
    text = await readSmallFile(path);
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
  const { version, recordFormat } = parse(text);
  if (typeof version === "number" && version > VERSION) {
    throw new PartitionDamagedError(path, -1, -1, `it has version ${version}, this is for version ${VERSION}`);
  }
  if (version !== VERSION || !isRecordFormat(recordFormat)) {
    throw new PartitionDamagedError(
      path,
      -1,
      -1,
      `it does not name a record format: it has ${JSON.stringify(text.slice(0, 100))}`,
    );
  }
  return recordFormat;
}

export async function writeMeta(dir: string, recordFormat: RecordFormat): Promise<void> {
  const text = `${JSON.stringify({ version: VERSION, recordFormat })}\n`;
  await native.replaceFile(join(dir, META_FILE), new TextEncoder().encode(text));
}

/** The format of a partition: what it has, else what was asked for, else `crc32c`. Throws BAD_CONFIG when both are there and differ. */
export function settleFormat(
  dir: string,
  existing: RecordFormat | undefined,
  asked: RecordFormat | undefined,
): RecordFormat {
  if (existing !== undefined && asked !== undefined && existing !== asked) {
    throw new MillraceError("BAD_CONFIG", `${dir} has records in ${existing}, and ${asked} was asked for`);
  }
  return existing ?? asked ?? "crc32c";
}

function parse(text: string): { readonly version?: unknown; readonly recordFormat?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
