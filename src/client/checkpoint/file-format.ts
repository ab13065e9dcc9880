// What a checkpoint file says. For people to read, and to change while nobody has it open:
//
//   {
//     "millrace": "checkpoint",
//     "version": 1,
//     "positions": [
//       { "topic": "orders", "partition": 0, "offset": 17, "epoch": 0 }
//     ]
//   }
//
// `offset` is the first that was not handled, `epoch` the log's at that time (−1: unknown). Positions stand in the order of
// topic and partition.

import { MillraceError } from "../../model/errors.js";
import { offset } from "../../model/ids.js";
import { OFFSET_MAX } from "../../model/limits.js";
import { badPartition, INT32_MAX, outOfRange } from "../checks.js";
import { type CheckpointPosition, positionKey } from "./store.js";

const FORMAT = "checkpoint";
const VERSION = 1;

export function checkpointText(positions: Iterable<CheckpointPosition>): string {
  const sorted = [...positions].sort((a, b) =>
    a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition,
  );
  const lines = sorted.map(
    ({ topic, partition, offset: at, epoch }) =>
      `    { "topic": ${JSON.stringify(topic)}, "partition": ${partition}, "offset": ${at}, "epoch": ${epoch} }`,
  );
  const list = lines.length === 0 ? "[]" : `[\n${lines.join(",\n")}\n  ]`;
  return `{\n  "millrace": "${FORMAT}",\n  "version": ${VERSION},\n  "positions": ${list}\n}\n`;
}

/** Throws BAD_CHECKPOINT, with what is wrong: nobody guesses a position from half a file. */
export function parseCheckpoint(text: string, path: string): CheckpointPosition[] {
  const bad = (what: string, cause?: unknown) =>
    new MillraceError("BAD_CHECKPOINT", `${path} is no checkpoint file: ${what}`, { cause });
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw bad(text.trim() === "" ? "it is empty" : "it is not whole JSON", error);
  }
  const { millrace, version, positions } = fieldsOf(read);
  if (millrace !== FORMAT) throw bad(`it does not begin with "millrace": "${FORMAT}"`);
  if (version !== VERSION) throw bad(`version ${JSON.stringify(version)} is not known here, only ${VERSION}`);
  if (!Array.isArray(positions)) throw bad("its positions are no list");
  const seen = new Set<string>();
  return positions.map((each: unknown, i) => {
    const { topic, partition, offset: at, epoch } = fieldsOf(each);
    const wrong =
      badPartition(topic, partition) ??
      outOfRange("offset", at, 0, OFFSET_MAX) ??
      outOfRange("epoch", epoch, -1, INT32_MAX);
    if (wrong !== undefined) throw bad(`position ${i}: ${wrong.message}`);
    const position = { topic: topic as string, partition: partition as number, epoch: epoch as number };
    const key = positionKey(position.topic, position.partition);
    if (seen.has(key)) throw bad(`${position.topic}-${position.partition} stands there twice`);
    seen.add(key);
    return { ...position, offset: offset(at as number) };
  });
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
