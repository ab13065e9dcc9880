// Lines on stderr, in the order in which they came. The stream of Node's own is used because it is the one way that does
// neither stop the event loop nor leave a thread in a write: a process whose pool has such a thread cannot end, and whoever
// reads stderr may take nothing, or be gone. What it does not take waits here, up to a bound. It knows no level and no JSON.

import { writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { LOG_FLUSH_MS, LOG_QUEUE_BYTES_MAX } from "../model/limits.js";

const STDERR = 2;
/** Between two looks whether what waits has gone. */
const LOOK_MS = 5;

/** Node makes a terminal's writes wait for the terminal: one that is held by ^S, or whose network hangs, would stop the broker. */
interface MayBlock {
  readonly _handle?: { readonly setBlocking?: (on: boolean) => number };
}

export class StderrLines {
  readonly isTerminal: boolean = process.stderr.isTTY === true;
  private last = "";
  private dropped = 0;

  /** `onDropped` is told how many lines were lost when there is room again. */
  constructor(private readonly onDropped: (lines: number) => void) {
    // Nobody is left to be told when stderr itself is gone; the broker goes on without it. It stays: each line can fail anew.
    process.stderr.on("error", () => undefined);
    if (this.isTerminal) (process.stderr as MayBlock)._handle?.setBlocking?.(false);
  }

  write(line: string): void {
    const waiting = process.stderr.writableLength;
    if (waiting > LOG_QUEUE_BYTES_MAX || (this.dropped > 0 && waiting > LOG_QUEUE_BYTES_MAX / 2)) {
      this.dropped++;
      return;
    }
    const { dropped } = this;
    this.dropped = 0;
    if (dropped > 0) this.onDropped(dropped);
    this.last = line;
    process.stderr.write(line);
  }

  /** Resolves when all of it is written, or nobody has taken it for a while. */
  async flush(): Promise<void> {
    const deadline = performance.now() + LOG_FLUSH_MS;
    while (process.stderr.writableLength > 0 && performance.now() < deadline) await pause(LOOK_MS);
  }

  /**
   * For a process that must not go on: the last line goes out even if those before it wait, which are lost, and of one of
   * them a part may be written already.
   */
  lastNow(): void {
    if (process.stderr.writableLength === 0) return;
    const bytes = Buffer.from(`\n${this.last}`);
    const deadline = performance.now() + LOG_FLUSH_MS;
    for (let from = 0; from < bytes.length && performance.now() < deadline; ) {
      try {
        from += writeSync(STDERR, bytes, from);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
      }
    }
  }
}
