// What storage has to tell, as lines for the operator.

import type { StorageEvent } from "../storage/events.js";
import type { OperatorLog } from "./options.js";

export function storageEvents(log: OperatorLog): (event: StorageEvent) => void {
  return ({ level, message, ...fields }) => {
    // pino prints an error with its stack and cause only under this name.
    const line = "cause" in fields ? { ...fields, cause: undefined, err: fields.cause } : fields;
    log[level](line, message);
  };
}
