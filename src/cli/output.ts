// What a verb prints as data. Gathered and written in large pieces, asynchronously: a slow reader of a pipe then stops this
// program by back-pressure and not by stopping its event loop, where deadlines of requests would pass unseen.

import { write } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Failed } from "./failure.js";

/** Where data goes. */
export interface ByteSink {
  /** Resolves when all of it is written. Rejects with {@link ClosedPipe} when nobody reads any more, else with {@link Failed}. */
  write(bytes: Uint8Array): Promise<void>;
}

/** The reader of stdout went away: no failure of ours, there is only nothing left to do. */
export class ClosedPipe extends Error {}

const writeAsync = promisify(write);
/** How long to wait for a pipe that somebody made non-blocking and that is full. */
const FULL_PIPE_MS = 2;

/** A file descriptor as a sink. */
export class DescriptorSink implements ByteSink {
  private writes = 0;

  constructor(private readonly descriptor: number) {}

  /** A system call is under way, and lasts maybe until somebody reads. */
  get isWriting(): boolean {
    return this.writes > 0;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      this.writes++;
      try {
        at += (await writeAsync(this.descriptor, bytes, at)).bytesWritten;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code === "EPIPE") throw new ClosedPipe();
        if (code !== "EAGAIN") throw new Failed(`stdout cannot be written: ${message}`);
        await sleep(FULL_PIPE_MS);
      } finally {
        this.writes--;
      }
    }
  }
}

/** Pieces are handed on when they are about so large. */
const PIECE_BYTES = 256 * 1024;
/** Up to here a loop is faster than making the view that `set` needs. */
const LOOP_BYTES_MAX = 48;

export class Output {
  private piece = Buffer.allocUnsafeSlow(PIECE_BYTES + 64 * 1024);
  private spare = Buffer.allocUnsafeSlow(PIECE_BYTES + 64 * 1024);
  private end = 0;
  /** The write that is under way. */
  private writing: Promise<void> = Promise.resolve();
  private turn: Promise<void> = Promise.resolve();

  constructor(private readonly sink: ByteSink) {}

  /** Whether it is time for {@link handOver}. */
  get isFull(): boolean {
    return this.end >= PIECE_BYTES;
  }

  append(bytes: Uint8Array, from: number, end: number): void {
    const size = end - from;
    if (this.end + size > this.piece.length) this.grow(this.end + size);
    const { piece } = this;
    let to = this.end;
    if (size <= LOOP_BYTES_MAX) {
      for (let at = from; at < end; at++) piece[to++] = bytes[at];
    } else {
      piece.set(bytes.subarray(from, end), to);
      to += size;
    }
    this.end = to;
  }

  text(text: string): void {
    const bytes = Buffer.from(text);
    this.append(bytes, 0, bytes.length);
  }

  /**
   * Begins to write what was appended; resolves when more may be appended, which is when the piece before it was written.
   * Several callers take turns.
   */
  handOver(): Promise<void> {
    this.turn = this.turn.then(() => this.swap());
    return this.turn;
  }

  /** Resolves when everything was written. */
  async flush(): Promise<void> {
    await this.handOver();
    await this.writing;
  }

  private async swap(): Promise<void> {
    await this.writing;
    if (this.end === 0) return;
    const full = this.piece;
    this.writing = this.sink.write(full.subarray(0, this.end));
    // Whoever hands over next, or flushes, gets the error; until then it is nobody's.
    this.writing.catch(() => undefined);
    this.piece = this.spare;
    this.spare = full;
    this.end = 0;
  }

  private grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.piece.length * 2));
    larger.set(this.piece.subarray(0, this.end));
    this.piece = larger;
  }
}
