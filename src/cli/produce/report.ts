// What a person needs to go on after `produce` stopped in the middle: what is in the log for certain, what may be, what is not.

import { AckPolicy } from "../../model/ack-policy.js";
import { MillraceError } from "../../model/errors.js";
import { Failed } from "../failure.js";
import { counted } from "../plural.js";
import type { Lane } from "./lane.js";
import type { LineProducer } from "./line-producer.js";

/** The failure that ends the verb. `unit` is "line" or "record": what the input is counted in. */
export function interrupted(
  error: unknown,
  producer: LineProducer,
  topic: string,
  ack: AckPolicy,
  unit: string,
): Failed {
  const message = error instanceof MillraceError || error instanceof Failed ? error.message : stackOf(error);
  if (ack === AckPolicy.NONE) {
    return new Failed(message, [
      `sent without acknowledgement: ${counted(producer.sent, unit)}; how many arrived is unknown`,
    ]);
  }
  return new Failed(message, [
    `acknowledged ${counted(producer.acknowledged, unit)}; read up to input ${unit} ${producer.lastLine}`,
    ...producer.lanes.flatMap((lane) => laneLines(lane, topic, unit)),
  ]);
}

function laneLines(lane: Lane, topic: string, unit: string): string[] {
  const name = `${topic}-${lane.partition}`;
  if (lane.acknowledgedLine === 0 && lane.missing.length === 0) return [];
  const upTo =
    lane.acknowledgedLine === 0 ? `nothing acknowledged` : `acknowledged up to input ${unit} ${lane.acknowledgedLine}`;
  const missing = lane.missing.map(({ first, last, missing }) => {
    const what = missing === "refused" ? "refused, not in the log" : "not acknowledged, may be in the log or not";
    return `${name}: its ${unit}s from ${first} to ${last}: ${what}`;
  });
  return [`${name}: ${upTo}`, ...missing];
}

/** Of a bug: all there is. */
function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
