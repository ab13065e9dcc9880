// What a request may ask. Checked before anything is sent: a broker would answer no more than that the body does not parse.

import { MillraceError } from "../model/errors.js";
import { isTopicName, TOPIC_NAME_RULE } from "../model/topic-name.js";

export const INT32_MAX = 0x7fff_ffff;

export function badPartition(topic: string, partition: number): MillraceError | undefined {
  if (!isTopicName(topic)) {
    return new MillraceError("BAD_ARGUMENT", `"${topic}" is no topic name: expected ${TOPIC_NAME_RULE}`);
  }
  return outOfRange("partition", partition, 0, INT32_MAX);
}

export function outOfRange(name: string, value: number, min: number, max: number): MillraceError | undefined {
  if (Number.isInteger(value) && value >= min && value <= max) return undefined;
  return new MillraceError("BAD_ARGUMENT", `${name} is ${value}: expected a whole number from ${min} to ${max}`);
}

/** What a fetch waits for: `minBytes` never comes when it is more than `maxBytes`. */
export function badWait(maxBytes: number, maxWaitMs: number, minBytes: number): MillraceError | undefined {
  return outOfRange("maxWaitMs", maxWaitMs, 0, INT32_MAX) ?? outOfRange("minBytes", minBytes, 0, maxBytes);
}
