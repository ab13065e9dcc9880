// --rate: no more than so many records a second.

import { setTimeout as sleep } from "node:timers/promises";
import { InvalidArgumentError } from "commander";

/** `100` or `100/s`. */
export function parseRate(written: string): number {
  const match = /^(\d{1,9})(?:\/s)?$/.exec(written);
  if (match === null || Number(match[1]) === 0)
    throw new InvalidArgumentError("It takes records a second: 100 or 100/s.");
  return Number(match[1]);
}

/** Input is taken in pieces so small that a piece of short lines is no burst to speak of. */
const PIECE_BYTES = 512;

export class Pace {
  private readonly startedAt: number;

  constructor(
    private readonly perSecond: number,
    private readonly now: () => number,
  ) {
    this.startedAt = now();
  }

  *pieces(chunk: Uint8Array): Generator<Uint8Array, void> {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
  }

  /** Waits until `records` may have been sent. */
  async wait(records: number): Promise<void> {
    const early = (records / this.perSecond) * 1000 - (this.now() - this.startedAt);
    if (early > 1) await sleep(early);
  }
}
