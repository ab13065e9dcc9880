// `--checkpoint FILE`: how far each partition was printed, saved after the output was written and never before. Whoever is killed
// in between prints some records again the next time; none is left out.

import { fileCheckpoints } from "../../client/checkpoint/file.js";
import { Saver } from "../../client/checkpoint/saver.js";
import type { CheckpointPosition, CheckpointStore } from "../../client/checkpoint/store.js";
import type { RecordBatch } from "../../client/record-batch.js";
import type { Start } from "../../client/start-position.js";
import { offset } from "../../model/ids.js";
import { CLI_CHECKPOINT_MS } from "../../model/limits.js";
import type { Output } from "../output.js";

export class Bookmark {
  private readonly file: CheckpointStore;
  private readonly saver: Saver;

  constructor(
    readonly path: string,
    private readonly topic: string,
    output: Output,
  ) {
    const file = fileCheckpoints(path);
    this.file = file;
    const written: CheckpointStore = {
      load: () => file.load(),
      save: async (positions) => {
        await output.flush();
        await file.save(positions);
      },
    };
    this.saver = new Saver(written, CLI_CHECKPOINT_MS);
  }

  /** Where the partitions of the topic were left. */
  async load(): Promise<readonly CheckpointPosition[]> {
    return (await this.file.load()).filter(({ topic }) => topic === this.topic);
  }

  /** What is read begins here. Saved as well: whoever begins at the end would else begin at a later one the next time. */
  begin(partition: number, { offset: at, epoch }: Start): void {
    this.saver.later([{ topic: this.topic, partition, offset: at, epoch }]);
  }

  /** So many records of a batch are in the output: saved soon, beside the printing. Throws what an earlier save has failed with. */
  print({ topic, partition, baseOffset, epoch }: RecordBatch, count: number): void {
    this.saver.later([{ topic, partition, offset: offset(baseOffset + count), epoch }]);
  }

  /** For a subscription: it begins where these were left, and what it tells of where it began is saved soon. */
  storeOf(kept: readonly CheckpointPosition[]): CheckpointStore {
    return { load: async () => kept, save: async (positions) => this.saver.later(positions) };
  }

  /** What is in the output is written, and that it was is saved. */
  flush(): Promise<void> {
    return this.saver.flush();
  }
}
