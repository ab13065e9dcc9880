// Live tails: what comes is sent to a person's browser as it comes, as server-sent events. Some times a second each tail looks
// how far its partitions have come and reads the newest records, a bounded number of them; what came beyond that is counted
// and left out. So a tail costs the same whether ten records a second come or a million. Nothing is kept for a reader that is
// slow: it is dropped, since what it would get later is not live.

import type { ServerResponse } from "node:http";
import type { Partition } from "../../broker/topic.js";
import type { Timers } from "../../model/clock.js";
import {
  TAIL_ALIVE_MS,
  TAIL_BYTES_MAX,
  TAIL_INTERVAL_MS,
  TAIL_QUEUED_BYTES_MAX,
  TAIL_RECORDS_MAX,
  TAILS_MAX,
} from "../../model/limits.js";
import { ApiFailure } from "./failure.js";
import type { RecordsRead, RecordsReader } from "./read-records.js";
import type { TailBegin, TailEvent, TailRecord } from "./types.js";

export interface TailOptions {
  readonly topic: string;
  readonly partitions: readonly Partition[];
  /** Records of each partition that are there already and are shown first. */
  readonly last: number;
  readonly payloadBytes: number;
}

interface Place {
  readonly partition: Partition;
  next: number;
}

interface Taken {
  readonly leftOut: number;
  readonly damaged: string | null;
}

class Tail {
  private readonly places: Place[];
  private quietMs = 0;
  private looking = false;

  constructor(
    private readonly response: ServerResponse,
    private readonly options: TailOptions,
    private readonly reader: RecordsReader,
  ) {
    this.places = options.partitions.map((partition) => {
      const end = partition.writer?.highWatermark ?? 0;
      return { partition, next: Math.max(partition.log?.logStartOffset ?? 0, end - options.last) };
    });
  }

  begin(): void {
    this.response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    const partitions = this.places.map(({ partition, next }) => ({ partition: partition.id, offset: next }));
    const begin: TailBegin = { topic: this.options.topic, partitions };
    this.response.write(`retry: 2000\nevent: begin\ndata: ${JSON.stringify(begin)}\n\n`);
  }

  /** Looks what is new. Never rejects. */
  async look(): Promise<void> {
    // Reads that take longer than an interval do not pile up: the next look has more to leave out.
    if (this.looking || this.response.writableEnded || this.response.destroyed) return;
    if (this.response.writableLength > TAIL_QUEUED_BYTES_MAX) {
      this.response.destroy();
      return;
    }
    this.looking = true;
    try {
      await this.send();
    } catch (error) {
      const text = JSON.stringify({ error: error instanceof Error ? error.message : String(error) });
      this.response.end(`event: failed\ndata: ${text}\n\n`);
    }
    this.looking = false;
  }

  private async send(): Promise<void> {
    const behind = this.places.filter(({ partition, next }) => (partition.writer?.highWatermark ?? 0) > next);
    if (behind.length === 0) {
      this.quietMs += TAIL_INTERVAL_MS;
      if (this.quietMs < TAIL_ALIVE_MS) return;
      this.quietMs = 0;
      this.response.write(": alive\n\n");
      return;
    }
    this.quietMs = 0;
    const share = Math.max(1, Math.floor(TAIL_RECORDS_MAX / behind.length));
    const records: TailRecord[] = [];
    let leftOut = 0;
    let damaged: string | null = null;
    for (const place of behind) {
      const taken = await this.take(place, share, records);
      leftOut += taken.leftOut;
      damaged ??= taken.damaged;
    }
    if (this.response.destroyed || (records.length === 0 && leftOut === 0)) return;
    const event: TailEvent = { records, sampled: leftOut > 0, leftOut, damaged };
    this.response.write(`event: records\ndata: ${JSON.stringify(event)}\n\n`);
  }

  /** The newest `share` records of a partition. Answers how many were left out, and whether for a damage. */
  private async take(place: Place, share: number, into: TailRecord[]): Promise<Taken> {
    const { partition, next } = place;
    const end = partition.writer?.highWatermark ?? 0;
    const from = Math.max(next, end - share, partition.log?.logStartOffset ?? 0);
    let { records, nextOffset, damaged } = await this.read(partition, from, Math.min(share, end - from));
    if (damaged === null && records.length > 0 && nextOffset < end) {
      // They are large, or a segment ends there: those that were read are the oldest. About as many of the newest fit.
      const rest = Math.max(nextOffset, end - records.length);
      const newest = await this.read(partition, rest, end - rest);
      records = rest === nextOffset ? [...records, ...newest.records] : newest.records;
      damaged = newest.damaged;
    }
    for (const record of records) into.push({ ...record, partition: partition.id });
    place.next = end;
    return { leftOut: end - next - records.length, damaged };
  }

  private read(partition: Partition, from: number, records: number): Promise<RecordsRead> {
    const { payloadBytes } = this.options;
    return this.reader.read(partition, from, { records, bytes: TAIL_BYTES_MAX, payloadBytes });
  }
}

export class Tails {
  private readonly open = new Map<Tail, ServerResponse>();
  private cancel: (() => void) | undefined;

  constructor(
    private readonly reader: RecordsReader,
    private readonly timers: Timers,
  ) {}

  get size(): number {
    return this.open.size;
  }

  /** Sends what comes until the reader goes away. */
  add(response: ServerResponse, options: TailOptions): void {
    if (this.open.size >= TAILS_MAX) {
      throw new ApiFailure("OVERLOADED", `there are ${TAILS_MAX} live tails already; close one`);
    }
    const tail = new Tail(response, options, this.reader);
    this.open.set(tail, response);
    response.once("close", () => this.open.delete(tail));
    tail.begin();
    void tail.look();
    if (this.cancel === undefined) this.arm();
  }

  private arm(): void {
    this.cancel = this.timers.after(TAIL_INTERVAL_MS, () => {
      this.cancel = undefined;
      for (const tail of this.open.keys()) void tail.look();
      if (this.open.size > 0) this.arm();
    });
  }
}
