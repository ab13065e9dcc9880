// Where a log ends after a start, as a decision table: path × format × what the tail of a segment looks like × whether
// records that were durable are missing × sealed or not × what the next segment says. Pure: no file, no clock.
//
// The floor is the offset below which everything was durable once: what the checkpoint says, or the end of the last segment
// with a valid `.index` (they are written after the barrier, in offset order), whichever is higher.
//
//   sealed    tail    below the floor   next segment     → what is done
//   yes       whole   no                none, adjoins    keep: trusted, not read
//   yes       any other combination                      refuse
//   no        any     yes               any              refuse: records are gone that were acknowledged
//   no        any     no                overlaps         refuse: two segments claim one offset
//   no        whole   no                none, adjoins    keep
//   no        zeros   no                none, adjoins    keep, cut to the records (a pre-sized file after a crash)
//   no        dirty   no                none             cut there: a torn tail; the epoch goes up
//   no        dirty   no                adjoins          trim: every record is there, the bytes behind them are none
//   no        any     no                gap              cut there: what lies between did not reach the disk; the epoch goes up
//
// "dirty" is any of the other tails: bytes behind a zero prefix, a record that is not whole, a length that cannot be, a sum
// that does not match.
//
// Neither the path nor the format changes what is done; they change which tails there can be, and what they mean (`meaning`).
// That is deliberate: a segment may have been written on another path than the one it is opened with.

import { unreachable } from "../model/invariant.js";
import type { RecordFormat } from "../model/record-format.js";
import { ScanStop, type SegmentModeId } from "../native/binding.js";

export const TAIL_SHAPES = ["whole", "zeros", "bytes-after-zero", "short", "bad-length", "bad-sum"] as const;
export type TailShape = (typeof TAIL_SHAPES)[number];

/** The next segment begins where this one ends, behind it, or before it. */
export const SUCCESSORS = ["none", "adjoins", "gap", "overlaps"] as const;
export type Successor = (typeof SUCCESSORS)[number];

export interface TailFacts {
  readonly mode: keyof typeof SegmentModeId;
  readonly format: RecordFormat;
  readonly sealed: boolean;
  readonly shape: TailShape;
  /** The segment's records end below the floor, or below the next segment that the floor covers. */
  readonly belowFloor: boolean;
  readonly successor: Successor;
}

export interface TailDecision {
  /**
   * keep: the segment ends behind its last record. trim: so, and the bytes there are moved away. cut: so, and all later
   * segments are moved away, too: the log ends here. refuse: the partition does not open.
   */
  readonly action: "keep" | "trim" | "cut" | "refuse";
  readonly raisesEpoch: boolean;
  /** For the operator. */
  readonly meaning: string;
}

/** What a scan found behind the last whole record. */
export function tailShape(stop: ScanStop, tailBytes: number): TailShape {
  switch (stop) {
    case ScanStop.END:
      return "whole";
    case ScanStop.ZERO_PREFIX:
      return tailBytes === 0 ? "zeros" : "bytes-after-zero";
    case ScanStop.TORN:
      // Fewer zeros than a header has.
      return tailBytes === 0 ? "zeros" : "short";
    case ScanStop.BAD_LENGTH:
      return "bad-length";
    case ScanStop.BAD_SUM:
      return "bad-sum";
    default:
      return unreachable(stop, "a scan stops for a known reason");
  }
}

export function successorOf(endOffset: number, nextBaseOffset: number | undefined): Successor {
  if (nextBaseOffset === undefined) return "none";
  if (nextBaseOffset === endOffset) return "adjoins";
  return nextBaseOffset > endOffset ? "gap" : "overlaps";
}

export function decideTail(facts: TailFacts): TailDecision {
  const { sealed, shape, belowFloor, successor } = facts;
  const decide = (action: TailDecision["action"], meaning: string): TailDecision => ({
    action,
    raisesEpoch: action === "cut",
    meaning,
  });
  if (successor === "overlaps") return decide("refuse", "the next segment begins before this one ends");
  if (belowFloor) return decide("refuse", `records that were durable are missing: ${tailMeaning(facts)}`);
  if (sealed) {
    if (successor === "gap") return decide("refuse", "the segment is sealed, and the one that follows it is missing");
    if (shape !== "whole") return decide("refuse", `the segment is sealed, and ${tailMeaning(facts)}`);
    return decide("keep", "sealed");
  }
  if (successor === "gap") return decide("cut", `the next segment begins later, and ${tailMeaning(facts)}`);
  if (shape === "whole" || shape === "zeros") return decide("keep", tailMeaning(facts));
  if (successor === "adjoins") return decide("trim", `the log goes on in the next segment, and ${tailMeaning(facts)}`);
  return decide("cut", tailMeaning(facts));
}

function tailMeaning({ mode, format, shape }: TailFacts): string {
  switch (shape) {
    case "whole":
      return "the file ends with its last record";
    case "zeros":
      return mode === "MAPPED"
        ? "zeros follow the last record, as in a file that was sized for more"
        : "zeros follow the last record: it was written on the other path, or the disk has its length and not its bytes";
    case "bytes-after-zero":
      return mode === "MAPPED"
        ? "a record was copied whose length was not written yet, or later pages reached the disk before earlier ones"
        : "bytes follow a zero length: later pages reached the disk before earlier ones";
    case "short":
      return "a record's length promises more than the file has";
    case "bad-length":
      return "a length is negative";
    case "bad-sum":
      return format === "crc32c"
        ? "a record's payload does not match its sum"
        : "a sum does not match in a format that has none, which cannot be";
    default:
      return unreachable(shape, "a tail has a known shape");
  }
}
