// Room on the disk: `disk.reserve.bytes` is kept free, so that produces get LOG_FULL before the file system fails, and the
// checkpoint, indexes and retention still have room. Kept by what was reserved; the file system is asked now and then, never
// for an append.
//
//   may be reserved = free at the last question − kept free − reserved since that question was sent − under way then
//
// What is under way when the question is sent counts as not yet in the answer, and so does all that came later: both may be
// in it already, and counting twice errs on the side of LOG_FULL for a second, never on that of a full disk. For the same
// reason nothing is given back before the next question: a cut file's blocks are free when the file system says so.

import type { Clock } from "../model/clock.js";
import { native } from "../native/binding.js";

export interface DiskSpace {
  /** Whether `bytes` more may be reserved without going below what is kept free. If so they are under way until `settle`. */
  reserve(bytes: number): boolean;
  /** The file system has answered about a reservation, whatever it said: its own figures have it now. */
  settle(bytes: number): void;
  /** Asks the file system again. A burst of calls asks once, and not more often than `askAgainMs`. */
  refresh(): Promise<void>;
}

/** Between two questions that producers who found no room cause: often enough that writes go on soon when there is room again. */
const ASK_AGAIN_MS = 50;

export class FileSystemSpace implements DiskSpace {
  readonly #path: string;
  readonly #keepFree: number;
  readonly #clock: Clock;
  readonly #ask: (path: string) => Promise<number>;
  #free = 0;
  #underWay = 0;
  /** Reserved since the question that `#free` answers was sent. */
  #since = 0;
  #sinceNext = 0;
  #asking: Promise<void> | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;

  /** Nothing may be reserved before the first `refresh`; `open` is this with one. */
  constructor(path: string, keepFree: number, clock: Clock, ask: (path: string) => Promise<number>) {
    this.#path = path;
    this.#keepFree = keepFree;
    this.#clock = clock;
    this.#ask = ask;
  }

  /** `path` is any directory of the file system. `ask` is replaced in tests. */
  static async open(
    path: string,
    keepFree: number,
    clock: Clock,
    ask: (path: string) => Promise<number> = native.freeBytes,
  ): Promise<FileSystemSpace> {
    const space = new FileSystemSpace(path, keepFree, clock, ask);
    await space.refresh();
    return space;
  }

  /** What may still be reserved; negative when the disk is below what is kept free. */
  get available(): number {
    return this.#free - this.#keepFree - this.#since;
  }

  reserve(bytes: number): boolean {
    if (bytes > this.available) return false;
    this.#since += bytes;
    this.#sinceNext += bytes;
    this.#underWay += bytes;
    return true;
  }

  settle(bytes: number): void {
    this.#underWay -= bytes;
  }

  refresh(): Promise<void> {
    const now = this.#clock.now();
    // A clock that was put back must not stop the questions.
    if (this.#asking === undefined && (now >= this.#askedAt + ASK_AGAIN_MS || now < this.#askedAt)) {
      this.#askedAt = now;
      this.#sinceNext = this.#underWay;
      this.#asking = this.#ask(this.#path).then(
        (free) => {
          this.#free = free;
          this.#since = this.#sinceNext;
          this.#asking = undefined;
        },
        () => {
          // The last answer stays. A file system that cannot even say how full it is fails on its own soon enough.
          this.#asking = undefined;
        },
      );
    }
    return this.#asking ?? Promise.resolve();
  }
}
