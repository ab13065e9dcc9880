// Hears how batches ended that nobody waits for (ackPolicy NONE). A client is never told; the errors are counted, and the
// operator is told of them in one line for all of a while, since a line for each would be a line for each request.

import type { AppendListener } from "../log/append-listener.js";
import type { Timers } from "../model/clock.js";
import { ERROR_ROWS, type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { UNACKNOWLEDGED_ERROR_LOG_MS } from "../model/limits.js";
import type { Counters } from "./counters.js";
import type { OperatorLog } from "./options.js";

export class UnacknowledgedErrors implements AppendListener {
  private readonly since = new Float64Array(ERROR_ROWS.length);
  private lastPartition = -1;
  private quiet = false;

  constructor(
    private readonly counters: Counters,
    private readonly timers: Timers,
    private readonly log: OperatorLog,
    private readonly nameOf: (partition: number) => string,
  ) {}

  /** The token is the partition's place in the catalog, −1 when the request named none that is there. */
  appended(partition: number, error: ErrorCode): void {
    if (error === ErrorCodes.NONE) return;
    this.counters.fail(error);
    this.since[error]++;
    this.lastPartition = partition;
    if (this.quiet) return;
    this.quiet = true;
    this.tell();
    this.timers.after(UNACKNOWLEDGED_ERROR_LOG_MS, () => {
      this.quiet = false;
      if (this.since.some((count) => count > 0)) this.tell();
    });
  }

  private tell(): void {
    const errors: Record<string, number> = {};
    for (const { code, name } of ERROR_ROWS) if (this.since[code] > 0) errors[name] = this.since[code];
    this.since.fill(0);
    const partition = this.lastPartition < 0 ? undefined : this.nameOf(this.lastPartition);
    this.log.warn(
      { kind: "produce.unacknowledged-failed", errors, partition },
      "produces that asked for no answer failed",
    );
  }
}
