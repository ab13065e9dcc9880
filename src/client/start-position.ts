// Where a reader begins, and under which epoch it got that place.

import { badArgument } from "../model/arguments.js";
import type { MillraceError } from "../model/errors.js";
import { type Offset, offset } from "../model/ids.js";
import { OFFSET_MAX } from "../model/limits.js";
import { UNKNOWN } from "../protocol/fetch-multi.js";
import type { PartitionMetadata } from "../protocol/metadata.js";
import type { Link } from "./link.js";

/** The start of the live log, its end for readers, an offset, or a time: the first record of then, or a little earlier. */
export type StartPosition = "earliest" | "latest" | Offset | number | Date;

export interface Start {
  readonly offset: Offset;
  /** −1: unknown, the offset comes from somewhere else. */
  readonly epoch: number;
}

/** Asks the broker only for a time. Throws BAD_ARGUMENT, and as {@link Link.listOffsets}. */
export async function startOf(
  from: StartPosition,
  topic: string,
  partition: PartitionMetadata,
  connection: Link,
): Promise<Start> {
  if (!(from instanceof Date)) return knownStart(from, partition);
  const found = await connection.listOffsets(topic, partition.partition, from.getTime());
  return { offset: found.offset, epoch: UNKNOWN };
}

/** What is known without asking. Throws BAD_ARGUMENT. */
export function knownStart(from: Exclude<StartPosition, Date>, partition: PartitionMetadata): Start {
  const { epoch } = partition;
  // `earliest` is the start of the live log, not zero: after retention, zero would be out of range.
  if (from === "earliest") return { offset: partition.logStartOffset, epoch };
  if (from === "latest") return { offset: partition.highWatermark, epoch };
  return { offset: checkedOffset("from", from, "earliest, latest, an offset or a Date"), epoch: UNKNOWN };
}

/** BAD_ARGUMENT, or undefined. */
export function badStart(name: string, start: unknown): MillraceError | undefined {
  return isOffset(start) ? undefined : badAskedPlace(name, start, "earliest, latest, an offset or a Date");
}

/** BAD_ARGUMENT, or undefined, where somebody asks for an offset and so cannot name one. */
export function badAskedPlace(
  name: string,
  place: unknown,
  expected = "earliest, latest or a Date",
): MillraceError | undefined {
  if (place === "earliest" || place === "latest") return undefined;
  if (!(place instanceof Date)) return badArgument(name, place, expected);
  return place.getTime() >= 0 ? undefined : badArgument(name, String(place), "a Date from 1970 on");
}

export const isOffset = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= OFFSET_MAX;

/** Throws BAD_ARGUMENT unless it is an offset. */
export function checkedOffset(name: string, value: unknown, expected: string): Offset {
  if (isOffset(value)) return offset(value);
  throw badArgument(name, value, expected);
}
