// A line on stderr that says how far a long work is, when a person looks at it.

import type { Io } from "./io.js";

/** How often the line is rewritten: often enough to be seen moving. */
const REFRESH_MS = 100;
const BAR_CELLS = 24;
/** Of a terminal that does not say how wide it is. */
const COLUMNS = 80;

export class Progress {
  private readonly startedAt: number;
  private shownAt: number;
  /** On a terminal that shows the data too, it would be written between the data's lines. */
  private readonly isShown: boolean;

  constructor(
    private readonly io: Pick<Io, "stderr" | "stdoutIsTerminal">,
    private readonly now: () => number,
    /** What is counted, as one of it is called. */
    private readonly unit: string,
  ) {
    this.isShown = io.stderr.isTerminal && !io.stdoutIsTerminal;
    this.startedAt = now();
    this.shownAt = this.startedAt;
  }

  /** `share` of the work is done, 0 to 1, when that is known. */
  show(count: number, bytes: number, share: number | undefined): void {
    const now = this.now();
    if (!this.isShown || now - this.shownAt < REFRESH_MS) return;
    this.shownAt = now;
    const bar = share === undefined ? "" : `${barOf(share)} `;
    this.io.stderr.write(`\r\x1b[K${this.fitting(`${bar}${this.text(count, bytes, now)}`)}`);
  }

  /** Removes the line and says what was done. */
  done(count: number, bytes: number, what: string): void {
    if (this.isShown) this.io.stderr.write(`\r\x1b[K${what} ${this.text(count, bytes, this.now())}\n`);
  }

  /** Removes the line. */
  clear(): void {
    if (this.isShown && this.shownAt !== this.startedAt) this.io.stderr.write("\r\x1b[K");
  }

  /** A line that is wider than the window goes on in the next one, and only that would be rewritten. */
  private fitting(line: string): string {
    const { columns = COLUMNS } = this.io.stderr;
    return line.slice(0, Math.max(1, columns - 1));
  }

  private text(count: number, bytes: number, now: number): string {
    const seconds = Math.max(now - this.startedAt, 1) / 1000;
    const rate = Math.round(count / seconds).toLocaleString("en-US");
    const megabytes = bytes / 1e6;
    return (
      `${count.toLocaleString("en-US")} ${this.unit}${count === 1 ? "" : "s"} in ${seconds.toFixed(1)} s ` +
      `(${rate}/s, ${megabytes.toFixed(1)} MB, ${(megabytes / seconds).toFixed(1)} MB/s)`
    );
  }
}

function barOf(share: number): string {
  const full = Math.round(Math.min(Math.max(share, 0), 1) * BAR_CELLS);
  return `[${"#".repeat(full)}${".".repeat(BAR_CELLS - full)}]`;
}
