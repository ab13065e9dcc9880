// What storage has to tell, as lines for the operator.

import type { StorageEvent } from "../storage/events.js";
import type { Counters } from "./counters.js";
import { foreseen } from "./foreseen.js";
import type { OperatorLog } from "./options.js";

/** `counters`: where they are counted, too. */
export function storageEvents(log: OperatorLog, counters?: Counters): (event: StorageEvent) => void {
  return ({ level, message, ...fields }) => {
    counters?.storageEvents.set(fields.kind, (counters.storageEvents.get(fields.kind) ?? 0) + 1);
    // pino prints an error with its stack and cause only under this name.
    const line = "cause" in fields ? { ...fields, cause: undefined, err: foreseen(fields.cause) } : fields;
    log[level](line, message);
  };
}
