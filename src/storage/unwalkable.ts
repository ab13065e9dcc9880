// Where the lengths of a segment stop leading on: for the operator, who else would hear of it only from whoever could not read.
// It is looked for when a reader has been refused already, with a file of its own, and never in that reader's way.

import { type NativeFile, native } from "../native/binding.js";
import type { PartitionState } from "./partition-state.js";
import type { Segment } from "./segment.js";

/** Tells the damage that lies between the last known place before `offset` and `offset`. Never rejects. */
export async function tellUnwalkable(state: PartitionState, segment: Segment, offset: number): Promise<void> {
  const { path, baseOffset, index } = segment;
  const relative = offset - baseOffset;
  const entry = index?.floor(relative) ?? -1;
  const known = index === undefined || entry < 0 ? 0 : index.relativeOffset(entry);
  const from = index === undefined || entry < 0 ? 0 : index.position(entry);
  let place = { position: from, records: 0 };
  let why = "the length there leads beyond the end of the segment, or is none";
  try {
    const file = await native.openFile(path, { writable: false });
    try {
      place = await lastReached(file, state.format.id, from, relative - known, segment.bytes);
    } finally {
      file.close();
    }
  } catch (cause) {
    if (segment.removed) return;
    why = `it cannot be read: ${(cause as Error).message}`;
  }
  const { position } = place;
  const damaged = baseOffset + known + place.records;
  state.tell({
    kind: "segment.damaged",
    level: "error",
    message: `${path} is damaged at position ${position} (offset ${damaged}), so offset ${offset} cannot be found: ${why}; run \`millrace verify\``,
    path,
    position,
    offset: damaged,
  });
}

/** The last record that the lengths lead to, by halves: each step is one walk, and no record is looked at here. */
async function lastReached(
  file: NativeFile,
  format: Parameters<NativeFile["walkAsync"]>[0],
  from: number,
  records: number,
  limit: number,
): Promise<{ position: number; records: number }> {
  let reached = { position: from, records: 0 };
  let beyond = records;
  while (beyond - reached.records > 1) {
    const middle = reached.records + ((beyond - reached.records) >>> 1);
    const position = await file.walkAsync(format, from, middle, limit);
    if (position < 0) beyond = middle;
    else reached = { position, records: middle };
  }
  return reached;
}
