// What a person needs to go on after `produce` stopped in the middle: what is in the log for certain, what may be, what is not.

import { AckPolicy } from "../../model/ack-policy.js";
import { MillraceError } from "../../model/errors.js";
import { counted } from "../../model/plural.js";
import { advice, Failed } from "../failure.js";
import { StoppedBySignal } from "../stop.js";
import type { Lane, Missing } from "./lane.js";
import type { LineProducer } from "./line-producer.js";
import type { LineRange } from "./parcel.js";

/** What the input is counted in. */
export type Unit = "line" | "record";

/** The failure that ends the verb. */
export function interrupted(
  error: unknown,
  producer: LineProducer,
  topic: string,
  ack: AckPolicy,
  unit: Unit,
): Failed | StoppedBySignal {
  const { failure } = producer;
  // It was ending already when that came.
  const besides = failure === undefined || failure === error ? [] : [failure.message];
  const known = ack === AckPolicy.NONE ? unanswered(producer, unit) : account(producer, topic, unit);
  const lines = [...besides, ...known, ...(error instanceof MillraceError ? advice(error) : [])];
  if (error instanceof StoppedBySignal) return new StoppedBySignal(error.signal, lines);
  const message = error instanceof MillraceError || error instanceof Failed ? error.message : stackOf(error);
  return new Failed(message, lines);
}

function unanswered({ sent, lastLine }: LineProducer, unit: Unit): string[] {
  return [
    `sent without acknowledgement: ${counted(sent, unit)}; how many arrived is unknown`,
    `the next input ${unit} is ${lastLine + 1}`,
  ];
}

function account(producer: LineProducer, topic: string, unit: Unit): string[] {
  const { acknowledged, lastLine, lanes, nextLine } = producer;
  const read = lastLine === 0 ? `no input ${unit} was sent` : `read up to input ${unit} ${lastLine}`;
  return [
    `acknowledged ${counted(acknowledged, unit)}; ${read}`,
    ...lanes.flatMap((lane) => laneLines(lane, topic, unit)),
    ...goOn(lanes, nextLine, topic, unit),
  ];
}

function laneLines(lane: Lane, topic: string, unit: Unit): string[] {
  const name = `${topic}-${lane.partition}`;
  const missing = lane.missing.map((range) => `${name}: its ${rangeText(range, unit)}: ${MEANING[range.missing]}`);
  if (lane.acknowledgedLine === 0 && missing.length === 0) return [];
  const upTo =
    lane.acknowledgedLine === 0 ? `nothing acknowledged` : `acknowledged up to input ${unit} ${lane.acknowledgedLine}`;
  return [`${name}: ${upTo}`, ...missing];
}

const MEANING: Readonly<Record<Missing, string>> = {
  refused: "refused, not in the log",
  unknown: "not acknowledged, may be in the log or not",
  "not sent": "not sent, not in the log",
};

/** Where to begin the next time, and what would then be there twice. */
function goOn(lanes: readonly Lane[], nextLine: number, topic: string, unit: Unit): string[] {
  const isUnknown = lanes.some(
    ({ firstMissing, missing }) => firstMissing === nextLine && missing[0]?.missing === "unknown",
  );
  const why = isUnknown ? `the first that may be missing from the log` : `the first that is not in the log`;
  const behind = lanes.flatMap((lane) => {
    const ranges = lane.inLogFrom(nextLine);
    return ranges.length === 0 ? [] : [`${topic}-${lane.partition} has its ${rangesText(ranges, unit)}`];
  });
  const first = `go on from input ${unit} ${nextLine}, ${why}`;
  if (behind.length === 0) return [first];
  return [
    first,
    `later ${unit}s are in the log already, and sent again they would be there twice:`,
    ...behind.map((line) => `  ${line}`),
  ];
}

function rangeText({ first, last }: LineRange, unit: Unit): string {
  return first === last ? `${unit} ${first}` : `${unit}s from ${first} to ${last}`;
}

function rangesText(ranges: readonly LineRange[], unit: Unit): string {
  const [only] = ranges;
  if (ranges.length === 1 && only !== undefined) return rangeText(only, unit);
  return `${unit}s ${ranges.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(", ")}`;
}

/** Of a bug: all there is. */
function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
