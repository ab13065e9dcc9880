// What storage is given in tests: a clock that a test moves, and a disk that is as full as a test says.

import type { Clock } from "../../../src/model/clock.js";
import type { DiskSpace } from "../../../src/storage/disk-space.js";

export class MovedClock implements Clock {
  /** Not too far from the machine's: times of files are compared with it. */
  constructor(public ms: number = Date.now()) {}
  now(): number {
    return this.ms;
  }
}

export class AnyAmountOfSpace implements DiskSpace {
  /** What may still be reserved. */
  left = Number.POSITIVE_INFINITY;
  underWay = 0;
  refreshed = 0;

  reserve(bytes: number): boolean {
    if (bytes < 0) throw new Error(`${bytes} bytes cannot be taken`);
    if (bytes > this.left) return false;
    this.left -= bytes;
    this.underWay += bytes;
    return true;
  }
  settle(bytes: number): void {
    this.underWay -= bytes;
  }
  refresh(): Promise<void> {
    this.refreshed++;
    return Promise.resolve();
  }
}
