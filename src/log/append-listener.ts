// Who hears how a batch ended. One object serves any number of batches (a session, a log); the token tells them apart,
// so that no batch costs an object or a closure. Knows nothing of connections and of files.

import type { ErrorCode } from "../model/error-codes.js";

export interface AppendListener {
  /**
   * Called exactly once for each offer, also with ack NONE (who asked for no answer still wants to count errors).
   * `token` is what was passed to `offer`. May be called inside `offer` (a refusal), inside `Scheduler.run` or later.
   *
   * With `error` 0, `baseOffset` is the first record's offset and `logEndOffset` the log's end as it is now; with any
   * other error both are −1 and nothing of the batch was kept, except after STORAGE_FAILURE, where nobody knows.
   */
  appended(token: number, error: ErrorCode, baseOffset: number, logEndOffset: number): void;
}
