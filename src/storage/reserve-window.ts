// How many blocks are reserved ahead of a segment's end. Pure.
//
// The window doubles with what the segment holds: a partition that gets a few records takes a mebibyte of the disk and not
// 128, and one that is filled fast asks the file system seldom.

import { RESERVE_WINDOW_MAX, RESERVE_WINDOW_MIN } from "../model/limits.js";

/** How far the blocks of a segment that ends at `end` should reach, when at least `needed` bytes must fit. */
export function reserveTarget(end: number, needed: number, capacity: number): number {
  const window = Math.min(Math.max(end, RESERVE_WINDOW_MIN), RESERVE_WINDOW_MAX);
  return Math.min(capacity, Math.max(end + needed, end + window));
}

/** The end at which the next window should be reserved in the background, so that no append waits for it. */
export function reserveTrigger(end: number, reserved: number, capacity: number): number {
  if (reserved >= capacity) return capacity;
  return end + Math.floor((reserved - end) / 2);
}

/** The end at which the next segment is prepared: early when the last quarter would be written before it is there. */
export const prepareTrigger = (capacity: number, fast: boolean): number =>
  fast ? Math.floor(capacity / 16) : Math.floor((capacity / 4) * 3);
