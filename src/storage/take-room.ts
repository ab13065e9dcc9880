// Reserving blocks: the account of the disk first, then the file system. Both may say no; then nothing has changed and the
// batch gets LOG_FULL.

import { MillraceError } from "../model/errors.js";
import { NoRoomError, roomFailure } from "./damage.js";
import type { PartitionState } from "./partition-state.js";

/** Runs `action`, which takes about `bytes` of the disk. Rejects LOG_FULL, or STORAGE_FAILURE for what is no want of room. */
export async function takeRoom<T>(state: PartitionState, bytes: number, action: () => Promise<T>): Promise<T> {
  const { space } = state.deps;
  if (!space.reserve(bytes)) {
    // There may be room again since it was last asked for: writes go on as soon as there is.
    await space.refresh();
    if (!space.reserve(bytes)) throw new NoRoomError(state.dir, bytes);
  }
  try {
    return await action();
  } catch (cause) {
    throw roomFailure(state.dir, cause, bytes);
  } finally {
    space.settle(bytes);
  }
}

/** Takes `wanted` bytes, with a window ahead; when there is no room for that, what is `needed` alone. */
export async function takeWantedOrNeeded<T>(
  wanted: number,
  needed: number,
  take: (bytes: number) => Promise<T>,
): Promise<T> {
  try {
    return await take(wanted);
  } catch (cause) {
    if (needed >= wanted || !(cause instanceof MillraceError && cause.code === "LOG_FULL")) throw cause;
    return take(needed);
  }
}
