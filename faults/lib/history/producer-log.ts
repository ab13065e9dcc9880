// What one producer sent to one partition, batch by batch, and what it was told. One producer sends in the order of its sequence, over one connection at a
// time; a record is sent once, or again only with the offset that it must have.

import { makePayload, type RecordId, recordId } from "./payload.js";

export type Ack = "none" | "written" | "forced";

export interface SentBatch {
  readonly producer: number;
  readonly first: number;
  readonly sizes: readonly number[];
  readonly ack: Ack;
  /**
   * `open` until it is told; `acknowledged`; `refused`: the broker says that nothing of it was written; `unknown`: maybe there.
   */
  outcome: "open" | "acknowledged" | "refused" | "unknown";
  base: number;
}

export const idsOf = ({ producer, first, sizes }: SentBatch): RecordId[] =>
  sizes.map((_, at) => recordId(producer, first + at));

export const payloadsOf = ({ producer, first, sizes }: SentBatch): Uint8Array[] =>
  sizes.map((size, at) => makePayload(producer, first + at, size));

/** Codes of errors after which a batch is maybe there; after any other it is not. `docs/promises.md` says so. */
const UNKNOWN_OUTCOMES: ReadonlySet<unknown> = new Set([
  "STORAGE_FAILURE",
  "OUTCOME_UNKNOWN",
  "CONNECTION_LOST",
  "REQUEST_TIMEOUT",
  "BAD_RESPONSE",
  "CLOSED",
]);

export const leavesUnknown = (code: unknown): boolean => code === undefined || UNKNOWN_OUTCOMES.has(code);

export class ProducerLog {
  readonly batches: SentBatch[] = [];
  #next = 0;

  constructor(
    readonly producer: number,
    readonly partition: number,
  ) {}

  send(sizes: readonly number[], ack: Ack): SentBatch {
    const batch: SentBatch = {
      producer: this.producer,
      first: this.#next,
      sizes,
      ack,
      // Nobody answers it.
      outcome: ack === "none" ? "unknown" : "open",
      base: -1,
    };
    this.#next += sizes.length;
    this.batches.push(batch);
    return batch;
  }

  /** The batch that a record was sent in. */
  batchOf(sequence: number): SentBatch | undefined {
    let low = 0;
    let high = this.batches.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.batches[middle].first <= sequence) low = middle + 1;
      else high = middle;
    }
    const batch = this.batches[low - 1];
    return batch !== undefined && sequence < batch.first + batch.sizes.length ? batch : undefined;
  }
}
