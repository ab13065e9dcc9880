// `--checkpoint FILE`: how far each partition was printed, saved after the output was written and never before. Whoever is killed
// in between prints some records again the next time; none is left out.

import { fileCheckpoints } from "../../client/checkpoint/file.js";
import type { CheckpointPosition, CheckpointStore } from "../../client/checkpoint/store.js";
import type { RecordBatch } from "../../client/record-batch.js";
import type { Start } from "../../client/start-position.js";
import type { Timers } from "../../model/clock.js";
import { type Offset, offset, type PartitionId } from "../../model/ids.js";
import { CLI_CHECKPOINT_MS } from "../../model/limits.js";
import type { Output } from "../output.js";

export class Bookmark {
  private readonly store: CheckpointStore;
  private readonly printed = new Map<number, CheckpointPosition>();
  private saved: ReadonlyMap<number, CheckpointPosition> = new Map();
  private turn: Promise<void> = Promise.resolve();
  private lastAt = Number.NEGATIVE_INFINITY;
  private cancel: (() => void) | undefined;
  private failure: { readonly error: unknown } | undefined;

  constructor(
    readonly path: string,
    private readonly topic: string,
    /** Milliseconds that never go back. */
    private readonly now: () => number,
    private readonly timers: Timers,
  ) {
    this.store = fileCheckpoints(path);
  }

  /** Where each partition of the topic was left. */
  async load(): Promise<ReadonlyMap<number, Start>> {
    const positions = (await this.store.load()).filter(({ topic }) => topic === this.topic);
    return new Map(positions.map(({ partition, offset: at, epoch }) => [partition, { offset: at, epoch }]));
  }

  /** What is read begins here. Saved as well: whoever begins at the end would else begin at a later one the next time. */
  begin(partition: PartitionId, { offset: at, epoch }: Start): void {
    this.set(partition, at, epoch);
  }

  /** So many records of a batch are in the output. */
  print({ partition, baseOffset, epoch }: RecordBatch, count: number): void {
    this.set(partition, offset(baseOffset + count), epoch);
  }

  /** Saves when the last time is long enough ago, beside the printing. Throws what an earlier save has failed with. */
  soon(output: Output): void {
    if (this.failure !== undefined) throw this.failure.error;
    this.cancel ??= this.timers.after(Math.max(0, this.lastAt + CLI_CHECKPOINT_MS - this.now()), () => {
      this.save(output).catch((error: unknown) => {
        this.failure ??= { error };
      });
    });
  }

  /** Writes what is in the output, and then saves that it was written. One at a time. */
  save(output: Output): Promise<void> {
    this.cancel?.();
    this.cancel = undefined;
    const done = this.turn.then(async () => {
      this.lastAt = this.now();
      const printed = new Map(this.printed);
      await output.flush();
      const changed = [...printed].filter(([partition, position]) => this.saved.get(partition) !== position);
      if (changed.length === 0) return;
      await this.store.save(changed.map(([, position]) => position));
      this.saved = printed;
    });
    this.turn = done.catch(() => undefined);
    return done;
  }

  private set(partition: number, at: Offset, epoch: number): void {
    this.printed.set(partition, { topic: this.topic, partition, offset: at, epoch });
  }
}
