// What a writer does when its oldest batch does not fit what can be written now: it waits until workers have reserved or
// rolled, or, for a batch larger than a segment, until they have written it. One such piece of work at a time, and nothing is
// written beside it, so that no batch overtakes another. Knows nothing of turns, and of who is answered what.

import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";
import type { Offset } from "../model/ids.js";
import { invariant } from "../model/invariant.js";
import { NoRoomError } from "../storage/damage.js";
import type { Mailbox } from "./mailbox.js";
import type { Upkeep } from "./upkeep.js";

export interface RoomTarget {
  readonly segmentBytes: number;
  room(): number;
  makeRoom(storedBytes: number): Promise<void>;
  appendSpanning(source: Uint8Array, offset: number, bytes: number, records: number): Promise<Offset>;
}

/** How it ended: exactly one of these is called, and before it the maker is free again. */
export interface RoomEvents {
  /** There is room. */
  made(): void;
  /** The upkeep that was in the way is done. */
  retry(): void;
  /** The oldest batch, larger than a segment, is written from `base` on. */
  written(base: number): void;
  /** The oldest batch can never be written. */
  refused(error: ErrorCode): void;
  /** There is no room on the disk. */
  full(neededBytes: number): void;
  failed(cause: unknown): void;
}

export class RoomMaker {
  readonly #target: RoomTarget;
  readonly #mailbox: Mailbox;
  readonly #upkeep: Upkeep;
  readonly #on: RoomEvents;
  #busy = false;
  #work: Promise<void> | undefined;

  constructor(target: RoomTarget, mailbox: Mailbox, upkeep: Upkeep, on: RoomEvents) {
    this.#target = target;
    this.#mailbox = mailbox;
    this.#upkeep = upkeep;
    this.#on = on;
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** Resolves when nothing is being done. */
  async settled(): Promise<void> {
    await this.#work;
  }

  /** The oldest batch needs so many bytes as stored. A batch larger than a segment must lie in staging. */
  begin(stored: number): void {
    this.#busy = true;
    if (this.#upkeep.busy) this.#work = this.#afterUpkeep();
    else this.#work = stored <= this.#target.segmentBytes ? this.#make(stored) : this.#span();
  }

  /** Upkeep may be rolling the segment itself; whether there is room shows when it is done. */
  async #afterUpkeep(): Promise<void> {
    await this.#upkeep.settled();
    this.#busy = false;
    this.#on.retry();
  }

  async #make(stored: number): Promise<void> {
    try {
      await this.#target.makeRoom(stored);
    } catch (cause) {
      this.#busy = false;
      this.#tell(cause);
      return;
    }
    invariant(this.#target.room() >= stored, "room that was made is there");
    this.#busy = false;
    this.#on.made();
  }

  async #span(): Promise<void> {
    const box = this.#mailbox;
    const i = box.slot(0);
    box.firstIsBeingRead = true;
    let base: number;
    try {
      const source = box.sources[i] as Uint8Array;
      const records = box.records[i] as number;
      base = await this.#target.appendSpanning(source, box.offsets[i] as number, box.sizes[i] as number, records);
    } catch (cause) {
      this.#busy = false;
      box.firstIsBeingRead = false;
      this.#tell(cause);
      return;
    }
    this.#busy = false;
    box.firstIsBeingRead = false;
    this.#on.written(base);
  }

  #tell(cause: unknown): void {
    const code = cause instanceof MillraceError ? cause.code : undefined;
    if (code === "LOG_FULL") this.#on.full(cause instanceof NoRoomError ? cause.neededBytes : 0);
    else if (code === "RECORD_TOO_LARGE" || code === "CORRUPT_REQUEST") this.#on.refused(ErrorCodes[code]);
    else this.#on.failed(cause);
  }
}
