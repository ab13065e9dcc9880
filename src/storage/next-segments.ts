// Segments that have no offset yet: `next.tmp`, created, sized and reserved by a worker before the roll needs it, so that the
// roll is a rename. It must not know the log.
//
// What a crash leaves: the file itself. Recovery removes it; nothing in it was ever acknowledged.

import { join } from "node:path";
import { type NativeSegmentWriter, native, SegmentModeId } from "../native/binding.js";
import { isMissing, NoRoomError, roomFailure } from "./damage.js";
import type { PartitionState } from "./partition-state.js";
import { nextName } from "./segment-name.js";
import { takeRoom, takeWantedOrNeeded } from "./take-room.js";

export interface NextSegment {
  readonly writer: NativeSegmentWriter;
  readonly path: string;
}

export class NextSegments {
  readonly #state: PartitionState;
  #prepared: NextSegment | undefined;

  constructor(state: PartitionState) {
    this.#state = state;
  }

  get prepared(): NextSegment | undefined {
    return this.#prepared;
  }

  /** Has one ready. Rejects LOG_FULL or STORAGE_FAILURE. */
  async prepare(wanted: number, forceLater = false): Promise<NextSegment> {
    this.#prepared ??= await this.#create(0, wanted, forceLater);
    return this.#prepared;
  }

  /** One segment for each of `needs`, in order, with at least that much reserved. All or none; rejects as `prepare` does. */
  async take(needs: readonly number[], window = 0, forceLater = false): Promise<NextSegment[]> {
    const taken: NextSegment[] = [];
    try {
      for (const [number, needed] of needs.entries()) {
        const make = (bytes: number): Promise<NextSegment> =>
          number === 0 ? this.prepare(bytes, forceLater) : this.#create(number, bytes);
        const next = await takeWantedOrNeeded(Math.max(needed, window), needed, make);
        taken.push(next);
        const missing = needed - next.writer.reserved;
        if (missing > 0) await takeRoom(this.#state, missing, () => next.writer.reserve(needed));
      }
    } catch (cause) {
      // The prepared one stays: it is of use to whoever needs less.
      await Promise.all(taken.filter((next) => next !== this.#prepared).map((next) => this.discard(next)));
      if (!(cause instanceof NoRoomError)) throw cause;
      // Those before are given back, so the whole is missing. What is prepared stays.
      const missing = needs.reduce((sum, needed) => sum + needed, 0) - (this.#prepared?.writer.reserved ?? 0);
      throw new NoRoomError(cause.dir, Math.max(cause.neededBytes, missing), cause.cause);
    }
    this.#prepared = undefined;
    return taken;
  }

  /** Removes one that was taken, or the prepared one. */
  async discard(next: NextSegment | undefined = this.#prepared): Promise<void> {
    if (next === undefined) return;
    if (next === this.#prepared) this.#prepared = undefined;
    // Whatever cannot be removed now is removed by the next start.
    await next.writer.close().catch(() => undefined);
    next.writer.file.close();
    await native.unlinkFile(next.path).catch(() => undefined);
  }

  async #create(number: number, reserve: number, forceLater = false): Promise<NextSegment> {
    const { dir, format, options } = this.#state;
    const path = join(dir, nextName(number));
    const create = () =>
      native.createSegmentWriter({
        path,
        mode: SegmentModeId[options.mode],
        format: format.id,
        capacity: options.segmentBytes,
        indexIntervalBytes: options.indexIntervalBytes,
        reserve,
        forceLater,
      });
    const writer = await takeRoom(this.#state, reserve, async () => {
      try {
        return await create();
      } catch (cause) {
        if ((cause as { code?: unknown }).code !== "EEXIST") throw cause;
        // One that could not be removed when it was not needed any more.
        await native.unlinkFile(path).catch((error: unknown) => {
          if (!isMissing(error)) throw roomFailure(dir, error);
        });
        return await create();
      }
    });
    return { writer, path };
  }
}
