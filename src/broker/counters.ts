// What the broker counts, in one array: an increment on the way of a request is a store, and whoever shows the numbers
// reads them when asked.

import { ERROR_ROWS, type ErrorCode } from "../model/error-codes.js";
import { Histogram } from "../model/histogram.js";

export const Count = {
  PRODUCE_REQUESTS: 0,
  PRODUCE_RECORDS: 1,
  PRODUCE_BYTES: 2,
  FETCH_REQUESTS: 3,
  FETCH_BYTES: 4,
  METADATA_REQUESTS: 5,
  /** Times a fetch had to read an index page or open a file before it could be planned. */
  FETCH_LOADS: 6,
  LIST_OFFSETS_REQUESTS: 7,
} as const;
const COUNTS = 8;

/** Requests whose time from arrival to answer is measured. */
export const Timed = {
  NOT: 0,
  PRODUCE_WRITTEN: 1,
  PRODUCE_FORCED: 2,
  FETCH: 3,
  /** A fetch that waited for records: mostly its producer's time. */
  FETCH_WAITED: 4,
} as const;
export type Timed = (typeof Timed)[keyof typeof Timed];
const TIMED = 5;

export class Counters {
  readonly values = new Float64Array(COUNTS);
  /** Requests by how they failed, also those that nobody was told about; the place is the error's number. */
  readonly errors = new Float64Array(ERROR_ROWS.length);

  /** Microseconds, by {@link Timed}. */
  readonly latencies: readonly Histogram[] = Array.from({ length: TIMED }, () => new Histogram());
  /**
   * What storage has told, by kind. What must not happen once is there from the start: Prometheus sees no growth in a series that
   * begins at 1, and no alert would come.
   */
  readonly storageEvents = new Map([
    ["partition.poisoned", 0],
    ["segment.damaged", 0],
  ]);

  fail(error: ErrorCode): void {
    this.errors[error]++;
  }
}
