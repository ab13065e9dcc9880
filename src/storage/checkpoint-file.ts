// The `checkpoint` file: two slots, written in turn. What it claims was true when it was written (the caller has forced it
// before), so a write that is lost only claims less, and a torn one leaves the other slot. Each write is forced nevertheless:
// two slots that were both on their way to the disk could both be torn.
//
// It opens the file for each write: that is at most one a second, and ten thousand partitions do not hold as many descriptors.

import { join } from "node:path";
import { native } from "../native/binding.js";
import { type Checkpoint, decodeSlot, encodeSlot, SLOT_BYTES, SLOTS } from "./checkpoint.js";
import { isMissing, PartitionDamagedError } from "./damage.js";
import { CHECKPOINT_FILE } from "./segment-name.js";

export class CheckpointFile {
  readonly path: string;
  #sequence: number;
  #exists: boolean;
  #last: Checkpoint | undefined;

  private constructor(path: string, sequence: number, last: Checkpoint | undefined) {
    this.path = path;
    this.#sequence = sequence;
    this.#exists = last !== undefined;
    this.#last = last;
  }

  /** Rejects with PartitionDamagedError when there is a file and no slot of it is whole. */
  static async open(dir: string): Promise<CheckpointFile> {
    const path = join(dir, CHECKPOINT_FILE);
    const bytes = await readSlots(path);
    if (bytes === undefined) return new CheckpointFile(path, 0, undefined);
    let sequence = -1;
    let newest: Checkpoint | undefined;
    for (let slot = 0; slot < SLOTS; slot++) {
      const found = decodeSlot(bytes.subarray(slot * SLOT_BYTES, (slot + 1) * SLOT_BYTES));
      if (found === "newer")
        throw new PartitionDamagedError(path, -1, -1, "it was written by a newer version of millrace");
      if (found === undefined || found.sequence <= sequence) continue;
      ({ sequence, checkpoint: newest } = found);
    }
    if (newest === undefined) {
      throw new PartitionDamagedError(
        path,
        -1,
        -1,
        "both of its slots are damaged, so nobody can say what was durable",
      );
    }
    return new CheckpointFile(path, sequence, newest);
  }

  /** For a repair: forgets what cannot be read, and writes anew. */
  static fresh(dir: string): CheckpointFile {
    return new CheckpointFile(join(dir, CHECKPOINT_FILE), 0, undefined);
  }

  /** What it says, or undefined when there is none. */
  get last(): Checkpoint | undefined {
    return this.#last;
  }

  /** Writes over the older slot. One at a time. */
  async write(checkpoint: Checkpoint): Promise<void> {
    const sequence = this.#sequence + 1;
    const slot = encodeSlot(sequence, checkpoint);
    if (this.#exists) {
      const file = await native.openFile(this.path, { writable: true });
      try {
        await file.write(slot, (sequence % SLOTS) * SLOT_BYTES, true);
      } finally {
        file.close();
      }
    } else {
      // The first one appears whole: an empty file after a power cut would be a refusal.
      const whole = new Uint8Array(SLOTS * SLOT_BYTES);
      whole.set(slot, (sequence % SLOTS) * SLOT_BYTES);
      await native.replaceFile(this.path, whole);
    }
    this.#exists = true;
    this.#sequence = sequence;
    this.#last = checkpoint;
  }
}

async function readSlots(path: string): Promise<Uint8Array | undefined> {
  try {
    const file = await native.openFile(path, { writable: false });
    try {
      const bytes = new Uint8Array(SLOTS * SLOT_BYTES);
      return bytes.subarray(0, await file.readAsync(bytes, 0));
    } finally {
      file.close();
    }
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
}
