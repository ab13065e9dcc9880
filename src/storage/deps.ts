// What storage is given, made with the usual parts: for a broker, an embedded log and tests alike.

import type { Clock } from "../model/clock.js";
import { FileSystemSpace } from "./disk-space.js";
import type { StorageEvent } from "./events.js";
import { FilePool } from "./file-pool.js";
import { IndexCache } from "./index-cache.js";
import type { StorageDeps } from "./options.js";
import { PopulateBudget } from "./populate-window.js";

export interface StorageBounds {
  readonly indexCacheBytes: number;
  /** Descriptors of sealed segments that stay open. */
  readonly openFilesMax: number;
  readonly diskReserveBytes: number;
  readonly populateAheadMax: number;
}

/** `path` is any directory on the disk that the partitions lie on. */
export async function createStorageDeps(
  path: string,
  bounds: StorageBounds,
  clock: Clock,
  log: (event: StorageEvent) => void,
): Promise<StorageDeps & { readonly space: FileSystemSpace }> {
  return {
    clock,
    log,
    indexCache: new IndexCache(bounds.indexCacheBytes),
    files: new FilePool(bounds.openFilesMax),
    space: await FileSystemSpace.open(path, bounds.diskReserveBytes, clock),
    populate: new PopulateBudget(bounds.populateAheadMax),
  };
}
