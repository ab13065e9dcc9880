// A batch that does not fit one segment: cut at record boundaries, all its room reserved, written by one native call.
//
// What a crash leaves: before the renames, the first piece at the end of the active segment and the rest in `next*.tmp`,
// which recovery removes; between them, segments that adjoin as far as they got. Nothing of it was acknowledged.

import { MillraceError } from "../model/errors.js";
import { invariant } from "../model/invariant.js";
import { AppendStatus, type NativeSegmentWriter, native } from "../native/binding.js";
import { AppendTurn } from "./append-turn.js";
import { writeFailed } from "./damage.js";
import type { NextSegment, NextSegments } from "./next-segments.js";
import type { PartitionState } from "./partition-state.js";
import { startNext } from "./segment-opening.js";

interface Region {
  readonly source: Uint8Array;
  readonly offset: number;
  readonly bytes: number;
  readonly records: number;
}

export interface Piece {
  /** Row of the turn, or −1: the active segment had no room for even one record. */
  readonly row: number;
  /** Which of the new segments it lies in, or −1 for the active one. */
  readonly next: number;
  readonly records: number;
}

/** The segment that is active before the batch. */
interface First {
  readonly writer: NativeSegmentWriter;
  readonly end: number;
  reserve(needed: number): Promise<void>;
}

/** Rejects before the first byte is written (RECORD_TOO_LARGE, CORRUPT_REQUEST, LOG_FULL, STORAGE_FAILURE), or poisons after it. */
export async function writeSpanning(
  state: PartitionState,
  first: First,
  segments: NextSegments,
  region: Region,
): Promise<{ readonly turn: AppendTurn; readonly pieces: readonly Piece[]; readonly next: readonly NextSegment[] }> {
  const capacity = state.options.segmentBytes;
  const cut = cutRegion(state, region, capacity - first.end, capacity);
  const [here, ...others] = cut;
  if (here.stored > 0) await first.reserve(here.stored);
  const next = await segments.take(others.map(({ stored }) => stored));

  const turn = new AppendTurn(cut.length, state.deps.clock);
  const pieces: Piece[] = [];
  for (const [at, { offset, bytes, records }] of cut.entries()) {
    const { id } = at === 0 ? first.writer : next[at - 1].writer;
    const row = records === 0 ? -1 : turn.add(id, region.source, offset, bytes, records);
    pieces.push({ row, next: at - 1, records });
  }
  // Nothing may have failed a barrier since the room was made: a broken writer would take a part of the batch only.
  if (state.poisoned !== undefined) throw await giveUp(state, segments, next, state.poisoned);
  turn.run();
  for (let row = 0; row < turn.rows; row++) {
    const status = turn.status(row);
    if (status === AppendStatus.OK) continue;
    invariant(status === AppendStatus.IO_ERROR, "what was measured and reserved can be written");
    throw await giveUp(state, segments, next, writeFailed(state.dir, turn.errno(row)));
  }
  try {
    let base = state.logEndOffset;
    for (const [at, { records }] of cut.entries()) {
      if (at > 0) await startNext(state, next[at - 1], base, segments);
      base += records;
    }
  } catch (cause) {
    throw await giveUp(state, segments, next, cause);
  }
  return { turn, pieces, next };
}

/**
 * Poisons, and lets go of the new segments, which are nobody's: their descriptors, mappings and blocks would stay until they are collected. Those that have
 * their names already keep them; the next start sees to what is in them.
 */
async function giveUp(
  state: PartitionState,
  segments: NextSegments,
  next: readonly NextSegment[],
  cause: unknown,
): Promise<MillraceError> {
  const failure = state.poison(cause);
  await Promise.all(next.map((segment) => segments.discard(segment)));
  return failure;
}

interface CutPiece {
  readonly offset: number;
  readonly bytes: number;
  readonly records: number;
  readonly stored: number;
}

function cutRegion(state: PartitionState, region: Region, room: number, capacity: number): CutPiece[] {
  const { format, dir } = state;
  const pieces: CutPiece[] = [];
  let { offset, bytes, records } = region;
  for (let left = room; pieces.length === 0 || records > 0; left = capacity) {
    const fits = native.measureRegion(
      region.source,
      offset,
      bytes,
      records,
      format.id,
      left,
      capacity - format.headerBytes,
    );
    if (fits.status === AppendStatus.TOO_LARGE) {
      throw new MillraceError(
        "RECORD_TOO_LARGE",
        `a record does not fit an empty segment of ${capacity} bytes in ${dir}`,
      );
    }
    if (fits.status !== AppendStatus.OK)
      throw new MillraceError("CORRUPT_REQUEST", "the records do not fill their region");
    invariant(fits.records > 0 || pieces.length === 0, "a record that is not too large fits an empty segment");
    pieces.push({ offset, bytes: fits.regionBytes, records: fits.records, stored: fits.storedBytes });
    offset += fits.regionBytes;
    bytes -= fits.regionBytes;
    records -= fits.records;
  }
  return pieces;
}
