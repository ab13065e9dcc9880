// Positions in memory: for tests, and for a subscription that is begun again in the same process.

import { type CheckpointPosition, type CheckpointStore, positionKey } from "./store.js";

/**
 * A store that lives as long as the object.
 *
 * ```ts
 * import { memoryCheckpoints, offset } from "millrace/client";
 *
 * const store = memoryCheckpoints([{ topic: "orders", partition: 0, offset: offset(1), epoch: -1 }]);
 * for await (const { offset } of client.replay("orders").checkpointing(store).records()) console.log(offset);
 * ```
 */
export function memoryCheckpoints(initial: readonly CheckpointPosition[] = []): CheckpointStore {
  const kept = new Map<string, CheckpointPosition>();
  const save = (positions: readonly CheckpointPosition[]): Promise<void> => {
    for (const each of positions) kept.set(positionKey(each.topic, each.partition), each);
    return Promise.resolve();
  };
  void save(initial);
  return { load: () => Promise.resolve([...kept.values()]), save };
}
