// How much a follower or a consumer asks of a partition where nobody has said it. A larger answer costs a record less, and a batch is what a reader
// holds and what is given again after a crash: so it grows only for whoever is through with it in no time.

import { CHECKPOINT_EVERY_MS } from "../model/limits.js";
import type { ReadPosition } from "./read-position.js";

export class AnswerSize {
  private isQuick = false;

  constructor(
    /** For all partitions together. */
    private readonly answerBytes: number,
  ) {}

  /** What came took its reader so long: how quick he is now. */
  handled(bytes: number, ms: number): void {
    // As much as may come, within the time by which a checkpoint is behind in any case: a crash then makes little more be given again.
    this.isQuick = ms * this.answerBytes < bytes * CHECKPOINT_EVERY_MS;
  }

  /** Gives each position that has more to read its part of the next answer, if the reader is quick; else what it asks for usually. */
  share(positions: readonly ReadPosition[]): void {
    const behind = positions.filter(({ lag }) => lag > 0).length;
    const part = this.isQuick && behind > 0 ? Math.floor(this.answerBytes / behind) : 0;
    for (const position of positions) position.askFor(position.lag > 0 ? part : 0);
  }
}
