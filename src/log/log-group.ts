// Several logs of this process, as whoever serves all of them needs them: stored bytes, waits over several at once, regions
// of records as they come from a producer. It knows no topics, no requests and no errors of a wire.

import type { AckPolicy } from "../model/ack-policy.js";
import type { Offset } from "../model/ids.js";
import type { RecordFormat } from "../model/record-format.js";
import type { Log, LogInside, LogListener } from "./embedded-log.js";
import { type ReadFrom, type ReadWait, ReadWaits, type WaitOutcome } from "./read-waits.js";
import { ceilingOf, type Isolation } from "./waiting/isolation.js";

/** How a log stands. */
export interface LogState {
  readonly epoch: number;
  /** Where the current epoch began. */
  readonly epochStart: Offset;
  readonly logStartOffset: Offset;
  readonly highWatermark: Offset;
  readonly durableOffset: Offset;
  readonly logEndOffset: Offset;
}

export class LogGroup {
  private readonly inside: readonly LogInside[];
  private readonly waits: ReadWaits;
  private readonly listeners: readonly LogListener[];

  /** A log is named by its place in this list from here on. */
  constructor(logs: readonly Log[]) {
    this.inside = logs.map((log) => log.inside);
    this.waits = new ReadWaits(this.inside.map(({ writer }) => writer));
    this.listeners = this.inside.map(({ listeners }, place) => {
      const listener = { changed: () => this.waits.changed(place), closed: () => this.waits.releaseFrom(place) };
      listeners.add(listener);
      return listener;
    });
  }

  /** Lets go of the logs, which stay open. Nobody waits after that. */
  leave(): void {
    this.waits.release();
    for (const [place, listener] of this.listeners.entries()) this.inside[place].listeners.delete(listener);
  }

  /** Throws CLOSED. */
  throwIfClosed(place: number): void {
    this.inside[place].throwIfClosed();
  }

  recordFormat(place: number): RecordFormat {
    return this.inside[place].writer.log.recordFormat;
  }

  state(place: number): LogState {
    const { writer } = this.inside[place];
    const { epoch, epochStart, logStartOffset, durableOffset, logEndOffset } = writer.log;
    return { epoch, epochStart, logStartOffset, highWatermark: writer.highWatermark, durableOffset, logEndOffset };
  }

  /** Where the log was cut below `offset` since `epoch`; undefined: nothing that such a reader saw is gone. */
  truncatedAt(place: number, epoch: number, offset: number): Offset | undefined {
    return this.inside[place].writer.log.truncatedAt(epoch, offset);
  }

  /**
   * Stored bytes, as `LogReader.stored`: `takes` is asked in this step of the event loop unless the disk must be read to plan.
   * Rejects OFFSET_OUT_OF_RANGE, STORAGE_FAILURE, CORRUPT_RECORD.
   */
  read(
    place: number,
    from: number,
    maxBytes: number,
    isolation: Isolation,
    takes: (bytes: number) => boolean,
  ): Promise<Uint8Array> {
    const { reader, writer } = this.inside[place];
    return reader.stored(from, maxBytes, () => ceilingOf(writer, isolation), takes);
  }

  /**
   * Appends a region `count × (int32 size | payload)`, which stays as it is until the promise settles. Rejects as
   * {@link Log.append}, and CORRUPT_REQUEST.
   */
  append(place: number, region: Uint8Array, count: number, ack: AckPolicy, expectedOffset: number): Promise<Offset> {
    return this.inside[place].queue.appendRegion(region, count, ack, expectedOffset);
  }

  /** As `PartitionLog.offsetAtTime`. */
  offsetAtTime(
    place: number,
    ms: number,
  ): Promise<{ readonly offset: Offset; readonly timestampMs: number } | undefined> {
    return this.inside[place].writer.log.offsetAtTime(ms);
  }

  /** As `ReadWaits.wait`; also over when one of the logs is closed. */
  wait(from: readonly ReadFrom[], wait: ReadWait): Promise<WaitOutcome> {
    return this.waits.wait(from, wait);
  }
}
