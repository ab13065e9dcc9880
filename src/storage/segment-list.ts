// The segments of a log in offset order, without holes; the last one is the active one. Knows nothing but their offsets.

import { invariant } from "../model/invariant.js";
import { Segment } from "./segment.js";

export class SegmentList {
  readonly #segments: Segment[];

  constructor(segments: readonly Segment[]) {
    invariant(segments.length > 0, "a log has a segment");
    this.#segments = [...segments];
  }

  get all(): readonly Segment[] {
    return this.#segments;
  }
  get active(): Segment {
    return this.#segments[this.#segments.length - 1];
  }
  get startOffset(): number {
    return this.#segments[0].baseOffset;
  }

  /** The segment that holds an offset; at its end, the active one. Undefined below the start. */
  find(offset: number): Segment | undefined {
    const segments = this.#segments;
    // Most readers are near the end.
    const active = segments[segments.length - 1];
    if (offset >= active.baseOffset) return active;
    let low = 0;
    let high = segments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (segments[middle].baseOffset <= offset) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? undefined : segments[low - 1];
  }

  /** A new active segment. */
  start(baseOffset: number, path: string): Segment {
    invariant(baseOffset === this.active.endOffset, "a segment begins where the one before it ends");
    const segment = new Segment(baseOffset, path);
    segment.bytesBefore = this.active.bytesBefore + this.active.bytes;
    this.#segments.push(segment);
    return segment;
  }

  /** Takes the oldest `count` out; the active one stays. */
  removeFirst(count: number): Segment[] {
    invariant(count < this.#segments.length, "the active segment is never removed");
    return this.#segments.splice(0, count);
  }

  /** Bytes of records from a position in one segment to the end of the log. */
  bytesFrom(segment: Segment, position: number): number {
    let bytes = 0;
    for (let at = this.#segments.length - 1; at >= 0; at--) {
      bytes += this.#segments[at].bytes;
      if (this.#segments[at] === segment) return bytes - position;
    }
    // Removed since: everything that is left comes after it.
    return bytes;
  }
}
