// Segments and marks as shapes on a line that is drawn to scale: x goes along the offsets. Pure; the picture is drawn elsewhere.

import type { SegmentView } from "../../../src/ops/api/types.js";

/** Part of the line from 0 to 1. */
export interface Block {
  readonly from: number;
  readonly to: number;
  /** The first of the segments that it stands for, and how many they are. */
  readonly first: number;
  readonly count: number;
  readonly active: boolean;
}

export interface Mark {
  /** Those at the same place. */
  readonly labels: readonly string[];
  readonly offset: number;
  readonly at: number;
}

/** Where an offset lies between two others, 0 to 1. An empty log is a point, at its left end. */
export const placeOf = (offset: number, start: number, end: number): number =>
  end <= start ? 0 : Math.min(1, Math.max(0, (offset - start) / (end - start)));

/** Segments that are narrower than `least` (a part of the line) are drawn together, so that thousands are a few hundred shapes. */
export function blocksOf(segments: readonly SegmentView[], start: number, end: number, least: number): Block[] {
  const blocks: Block[] = [];
  // An empty log has segments, but nothing of them lies anywhere.
  if (end <= start) return blocks;
  segments.forEach((segment, index) => {
    const from = placeOf(segment.baseOffset, start, end);
    const to = segments.length === 1 ? 1 : placeOf(segment.endOffset, start, end);
    const last = blocks.at(-1);
    if (last !== undefined && !segment.active && (last.to - last.from < least || to - from < least / 2)) {
      if (to - last.from < least * 2) {
        blocks[blocks.length - 1] = { ...last, to, count: last.count + 1 };
        return;
      }
    }
    blocks.push({ from, to, first: index, count: 1, active: segment.active });
  });
  return blocks;
}

/** In the order of offsets; those at the same offset share a mark. */
export function marksOf(
  offsets: readonly { readonly label: string; readonly offset: number }[],
  start: number,
  end: number,
): Mark[] {
  const marks: Mark[] = [];
  for (const { label, offset } of [...offsets].sort((a, b) => a.offset - b.offset)) {
    const last = marks.at(-1);
    if (last !== undefined && last.offset === offset) {
      marks[marks.length - 1] = { ...last, labels: [...last.labels, label] };
    } else marks.push({ labels: [label], offset, at: placeOf(offset, start, end) });
  }
  return marks;
}
