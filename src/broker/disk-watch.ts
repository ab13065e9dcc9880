// Tells the operator when the disk has come to its reserve, once, and when there is room again: at the start, at the first
// produce that is refused, and each time it is asked to look. It refuses nothing itself.

import { RESERVE_WINDOW_MIN } from "../model/limits.js";
import type { FileSystemSpace } from "../storage/disk-space.js";
import type { OperatorLog } from "./options.js";

export class DiskWatch {
  private full = false;
  private refusedSince = false;
  /** The most that was refused since the last look, or the last time when nothing was. */
  private neededBytes = 0;

  constructor(
    private readonly space: Pick<FileSystemSpace, "available" | "refresh">,
    private readonly dataDir: string,
    private readonly reserveBytes: number,
    private readonly log: OperatorLog,
  ) {}

  /** What may still be written. */
  get availableBytes(): number {
    return Math.max(0, this.space.available);
  }

  /** What would have to become free until what was refused is taken and it is not full any more; 0 when it is not. */
  get missingBytes(): number {
    return this.isFull ? Math.max(1, Math.max(RESERVE_WINDOW_MIN, this.neededBytes) - this.space.available) : 0;
  }

  /** Produces get LOG_FULL, or the next ones will. */
  get isFull(): boolean {
    return this.full || this.space.available <= 0;
  }

  /** Before the first produce: a disk that is smaller than its reserve takes none. */
  begin(): void {
    if (this.space.available <= 0) this.tellFull();
  }

  /** A produce got LOG_FULL just now: so many bytes could not be taken. */
  refused(neededBytes: number): void {
    this.neededBytes = this.refusedSince ? Math.max(this.neededBytes, neededBytes) : neededBytes;
    this.refusedSince = true;
    this.tellFull();
  }

  async look(): Promise<void> {
    await this.space.refresh();
    const { available } = this.space;
    const { refusedSince } = this;
    this.refusedSince = false;
    if (available <= 0) {
      this.tellFull();
    } else if (this.full && !refusedSince && available >= RESERVE_WINDOW_MIN) {
      // With less than a segment reserves at a time the next produce could be refused again, and the lines would alternate.
      this.full = false;
      this.neededBytes = 0;
      this.log.info(
        { kind: "disk.reserve-left", ...this.fields() },
        `there is room on the disk of ${this.dataDir} again`,
      );
    }
  }

  private tellFull(): void {
    if (this.full) return;
    this.full = true;
    this.log.error(
      { kind: "disk.reserve-reached", ...this.fields() },
      `produces get LOG_FULL: the disk of ${this.dataDir} is full up to disk.reserve.bytes (${this.reserveBytes}); ` +
        `${this.missingBytes} more bytes must become free, or disk.reserve.bytes set lower`,
    );
  }

  private fields(): object {
    return {
      availableBytes: this.availableBytes,
      missingBytes: this.missingBytes,
      reserveBytes: this.reserveBytes,
      dataDir: this.dataDir,
    };
  }
}
