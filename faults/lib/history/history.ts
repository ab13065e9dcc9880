// The record of a run: what producers sent and were told, what consumers were shown, what was done to the broker. What can be judged at once is
// judged at once; the rest is judged against the log as it is at the end (check.ts).
//
//   const history = new History({ partitions: 2, visibility: "durable", retention: false });
//   const producer = history.producer(0);
//   const batch = producer.send([100, 100], "forced");     // payloadsOf(batch) goes out
//   history.acknowledged(producer, batch, base, end);      // or refused(batch), unknown(batch), failed(batch, error)
//   const asked = history.asked(0, offset);                // before a FETCH leaves
//   history.shown(asked, { payloads, highWatermark, … });  // what came
//   history.powerLost(); … history.restarted();            // kill -9 needs no word: it may take nothing
//   const verdict = checkHistory(history, await readLogs(…));

import { Bindings, How } from "./bindings.js";
import { identify, producerOf, type RecordId, sequenceOf } from "./payload.js";
import { type Ack, idsOf, leavesUnknown, ProducerLog, type SentBatch } from "./producer-log.js";
import { Violations } from "./violations.js";

export interface HistoryOptions {
  readonly partitions: number;
  readonly visibility: "written" | "durable";
  /** Whether records may go away from the log's start. */
  readonly retention: boolean;
  /** Refusals that the rung provokes: `LOG_FULL`, `STORAGE_FAILURE`. Any other than those of a broker that goes away is a violation. */
  readonly mayFail?: readonly string[];
}

/** What an answer to a FETCH said; FETCH v1 and v2 say less. */
export interface Shown {
  readonly payloads: readonly Uint8Array[];
  readonly highWatermark: number;
  readonly logStartOffset?: number;
  readonly logEndOffset?: number;
  readonly epoch?: number;
}

/** A FETCH under way: what was known when it left is what its answer must at least know. */
export interface Asked {
  readonly partition: number;
  readonly from: number;
  readonly watermark: number;
  readonly start: number;
  readonly epoch: number;
  readonly era: number;
}

/** What clients of a broker that is killed or stopped are told. */
const GOES_AWAY: ReadonlySet<unknown> = new Set(["CONNECTION_LOST", "CONNECTION_FAILED", "SHUTTING_DOWN", "CLOSED"]);

interface PartitionRecord {
  readonly bindings: Bindings;
  /** What the high watermark has reached for sure. */
  watermark: number;
  start: number;
  epoch: number;
}

export class History {
  readonly violations = new Violations();
  readonly producers: ProducerLog[] = [];
  readonly counts = {
    "batches sent": 0,
    "records acknowledged": 0,
    "records shown": 0,
    "batches refused": 0,
    "batches without an answer": 0,
  };
  readonly #partitions: PartitionRecord[];
  /** Goes up with each loss of power: what was asked before says nothing about after. */
  #era = 0;
  /** Whether anything was ever cut off: then a batch that was not acknowledged may be there in part. */
  interrupted = false;

  constructor(readonly options: HistoryOptions) {
    this.#partitions = Array.from({ length: options.partitions }, (_, partition) => ({
      bindings: new Bindings(`partition ${partition}`, this.violations),
      watermark: 0,
      start: 0,
      epoch: 0,
    }));
  }

  /** A producer of its own for one partition. */
  producer(partition: number): ProducerLog {
    const producer = new ProducerLog(this.producers.length, partition);
    this.producers.push(producer);
    return producer;
  }

  bindings(partition: number): Bindings {
    return this.#partitions[partition].bindings;
  }

  startSeen(partition: number): number {
    return this.#partitions[partition].start;
  }

  acknowledged({ partition }: ProducerLog, batch: SentBatch, base: number, logEndOffset?: number): void {
    const { violations } = this;
    const record = this.#partitions[partition];
    const ids = idsOf(batch);
    const end = base + ids.length;
    if (batch.outcome !== "open" && !(batch.outcome === "unknown" && batch.ack !== "none")) {
      violations.add("answer", `a batch at ${base} was answered, and was ${batch.outcome} before`);
    }
    batch.outcome = "acknowledged";
    batch.base = base;
    this.counts["records acknowledged"] += ids.length;
    if (logEndOffset !== undefined && logEndOffset < end) {
      violations.add("answer", `a batch at ${base} of ${ids.length} was told that the log ends at ${logEndOffset}`);
    }
    if (base < 0) violations.add("answer", `a batch was given offset ${base}`);
    for (const [at, id] of ids.entries()) record.bindings.bind(base + at, id, How.ACKNOWLEDGED);
    if (batch.ack === "forced") record.bindings.forcedUpTo(end);
    const visible = batch.ack === "forced" || (this.options.visibility === "written" && !record.bindings.shaky);
    if (visible) record.watermark = Math.max(record.watermark, end);
  }

  /** It had to lie at one offset or nowhere, and others lay there; it was written all the same. */
  misplaced(batch: SentBatch, expectedOffset: number, base: number): void {
    batch.outcome = "unknown";
    this.violations.add(
      "answer",
      `a batch that had to lie at ${expectedOffset}, where others lie, was written at ${base}`,
    );
  }

  /** It was refused: nothing of it is there. */
  refused(batch: SentBatch): void {
    batch.outcome = "refused";
    this.counts["batches refused"]++;
  }

  unknown(batch: SentBatch): void {
    batch.outcome = "unknown";
    this.counts["batches without an answer"]++;
  }

  /** As the code of what the client rejected with says. */
  failed(batch: SentBatch, error: unknown): void {
    const code = (error as { code?: unknown } | undefined)?.code;
    if (!this.mayFail(error)) this.violations.add("answer", `a batch failed: ${String(code)}, ${String(error)}`);
    if (leavesUnknown(code)) this.unknown(batch);
    else this.refused(batch);
  }

  /** Whether that belongs to what is done to the broker. Not an answer that cannot be, which ends a connection as a cut does. */
  mayFail(error: unknown): boolean {
    const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } };
    if (cause?.code === "BAD_RESPONSE") return false;
    return GOES_AWAY.has(code) || (this.options.mayFail ?? []).includes(String(code));
  }

  asked(partition: number, from: number): Asked {
    const { watermark, start, epoch } = this.#partitions[partition];
    return { partition, from, watermark, start, epoch, era: this.#era };
  }

  /** What a consumer was shown. Returns the offset to read on from. */
  shown(asked: Asked, shown: Shown): number {
    const { partition, from } = asked;
    const record = this.#partitions[partition];
    const next = from + shown.payloads.length;
    this.#judgeNumbers(asked, shown, next);
    for (const [at, payload] of shown.payloads.entries()) {
      const id = this.identified(partition, from + at, payload);
      if (id !== undefined) record.bindings.bind(from + at, id, How.VISIBLE);
    }
    // A consumer that is shown only what was forced shows what was forced.
    if (this.options.visibility === "durable") record.bindings.forcedUpTo(next);
    this.counts["records shown"] += shown.payloads.length;
    if (asked.era === this.#era) record.watermark = Math.max(record.watermark, shown.highWatermark);
    return next;
  }

  #judgeNumbers({ partition, from, watermark, start, epoch, era }: Asked, shown: Shown, next: number): void {
    const { violations } = this;
    const record = this.#partitions[partition];
    const where = `partition ${partition}, FETCH from ${from}`;
    const { highWatermark, logStartOffset, logEndOffset, epoch: newEpoch } = shown;
    if (next > highWatermark)
      violations.add("answer", `${where}: records up to ${next}, high watermark ${highWatermark}`);
    if (logEndOffset !== undefined && logEndOffset < highWatermark) {
      violations.add("answer", `${where}: the log ends at ${logEndOffset}, high watermark ${highWatermark}`);
    }
    if (era === this.#era && highWatermark < watermark) {
      violations.add("watermark", `${where}: high watermark ${highWatermark}, and it had been ${watermark}`);
    }
    if (logStartOffset !== undefined) {
      if (logStartOffset < start || (logStartOffset > 0 && !this.options.retention)) {
        violations.add("log-start", `${where}: the log starts at ${logStartOffset}, and it had started at ${start}`);
      }
      record.start = Math.max(record.start, logStartOffset);
    }
    if (newEpoch !== undefined && newEpoch >= 0) {
      if (newEpoch < epoch) violations.add("epoch", `${where}: epoch ${newEpoch}, and it had been ${epoch}`);
      record.epoch = Math.max(record.epoch, newEpoch);
    }
  }

  /** Whose record that is; a violation when nobody's. */
  identified(partition: number, offset: number, payload: Uint8Array): RecordId | undefined {
    const id = identify(payload);
    const sender = id === undefined ? undefined : this.producers[producerOf(id)];
    const batch = id === undefined ? undefined : sender?.batchOf(sequenceOf(id));
    const where = `partition ${partition}, offset ${offset}`;
    if (id === undefined || sender === undefined || batch === undefined || sender.partition !== partition) {
      const hex = Buffer.from(payload.subarray(0, 24)).toString("hex");
      this.violations.add("invented", `${where}: ${payload.length} bytes that nobody sent there, ${hex}…`);
      return undefined;
    }
    if (batch.sizes[sequenceOf(id) - batch.first] !== payload.length) {
      this.violations.add("invented", `${where}: a record of ${payload.length} bytes that was sent with another size`);
      return undefined;
    }
    if (batch.outcome === "refused") {
      this.violations.add("refused-but-there", `${where}: a record that the broker had refused`);
    }
    return id;
  }

  /** A consumer that may only see what was forced, or one on a log that lost nothing, was told LOG_TRUNCATED. */
  truncated(asked: Asked, epochStart: number): void {
    const { bindings } = this.#partitions[asked.partition];
    const mayNot = this.options.visibility === "durable" || asked.from <= bindings.durable;
    if (mayNot && epochStart < asked.from) {
      const text = `partition ${asked.partition}: a reader at ${asked.from} was told that the log was cut at ${epochStart}`;
      this.violations.add("epoch", text);
    }
  }

  /** A reader was told that the log ends before its position. Only a loss of what was not forced can do that. */
  behindTheEnd(asked: Asked, logEndOffset: number): void {
    const record = this.#partitions[asked.partition];
    if (asked.from > record.bindings.durable && this.#era > 0 && this.options.visibility === "written") return;
    const text = `partition ${asked.partition}: a reader at ${asked.from} was told that the log ends at ${logEndOffset}`;
    this.violations.add("watermark", text);
  }

  /** Memory is gone: what was not forced may be gone. Also after a barrier that failed. Say it before it can have happened. */
  powerLost(partition?: number): void {
    this.interrupted = true;
    this.#era++;
    for (const [at, record] of this.#partitions.entries()) {
      if (partition !== undefined && at !== partition) continue;
      record.bindings.loosen();
      record.watermark = Math.min(record.watermark, record.bindings.durable);
    }
  }

  /** The process was killed: nothing that was acknowledged may be gone. */
  killed(): void {
    this.interrupted = true;
  }

  /** A broker has opened the log, before anybody is told anything by it. */
  restarted(): void {
    for (const { bindings } of this.#partitions) bindings.steady();
  }

  /** A send, counted. */
  send(producer: ProducerLog, sizes: readonly number[], ack: Ack): SentBatch {
    this.counts["batches sent"]++;
    return producer.send(sizes, ack);
  }
}
