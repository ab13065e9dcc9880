// The last ten minutes in numbers, one row for each second: what charts are drawn of. Taking a row reads counters and costs
// some ten microseconds; quantiles come from what histograms counted since the row before. It keeps nothing on a disk.

import type { Broker } from "../../broker/broker.js";
import { Count, Timed } from "../../broker/counters.js";
import type { Histogram } from "../../model/histogram.js";
import { RATE_SAMPLE_MS, RATE_SAMPLES } from "../../model/limits.js";
import { SelectorCounter } from "../../native/binding.js";
import type { Server } from "../../server/server.js";
import { LoopWatch, loopUtilization } from "../metrics/loop-watch.js";
import type { OpsSource } from "../ops-source.js";
import { queuedBytes } from "../statistics.js";
import type { RateColumns, Rates } from "./types.js";

type Column = keyof RateColumns;

const COLUMNS: readonly Column[] = [
  "produceRequests",
  "produceRecords",
  "produceBytes",
  "fetchRequests",
  "fetchBytes",
  "errors",
  "barriers",
  "produceWrittenP50Ms",
  "produceWrittenP99Ms",
  "produceForcedP50Ms",
  "produceForcedP99Ms",
  "fetchP50Ms",
  "fetchP99Ms",
  "barrierP50Ms",
  "barrierP99Ms",
  "loopDelayP99Ms",
  "loopDelayMaxMs",
  "loopActive",
  "fetchesWaiting",
  "queuedBytes",
  "connections",
  "diskAvailableBytes",
  "residentBytes",
];

/** A histogram and what it had counted when the last row was taken. */
class Since {
  private before: Float64Array;

  constructor(private readonly histogram: Histogram) {
    this.before = histogram.counts.slice();
  }

  /** Milliseconds; NaN: nothing came. */
  quantiles(): { readonly p50: number; readonly p99: number; readonly count: number } {
    const { histogram, before } = this;
    const p50 = histogram.quantileSince(before, 0.5) / 1000;
    const p99 = histogram.quantileSince(before, 0.99) / 1000;
    let count = histogram.total;
    for (const counted of before) count -= counted;
    before.set(histogram.counts);
    return { p50, p99, count };
  }
}

/** What has been counted until the last row, of a broker that is there. */
class Counted {
  private readonly values: Float64Array;
  private errors: number;
  readonly written: Since;
  readonly forced: Since;
  readonly fetch: Since;
  readonly barrier: Since;

  constructor(broker: Broker) {
    const { latencies, values } = broker.counters;
    // From what it had counted: the first row is a second, too.
    this.values = values.slice();
    this.errors = sumOf(broker.counters.errors);
    this.written = new Since(latencies[Timed.PRODUCE_WRITTEN]);
    this.forced = new Since(latencies[Timed.PRODUCE_FORCED]);
    this.fetch = new Since(latencies[Timed.FETCH]);
    this.barrier = new Since(broker.scheduler.barriers.durations);
  }

  since(values: Float64Array, which: number): number {
    const more = values[which] - this.values[which];
    this.values[which] = values[which];
    return more;
  }

  errorsSince(errors: Float64Array): number {
    const total = sumOf(errors);
    const more = total - this.errors;
    this.errors = total;
    return more;
  }
}

export class RateSampler {
  readonly loop: LoopWatch;
  private readonly at = new Float64Array(RATE_SAMPLES);
  private readonly columns = COLUMNS.map((name) => ({ name, values: new Float64Array(RATE_SAMPLES) }));
  private taken = 0;
  private counted: Counted | undefined;
  private loopDelays: Since;
  private cancel: (() => void) | undefined;

  constructor(private readonly source: OpsSource) {
    const { timers, now } = source;
    this.loop = new LoopWatch({ timers, now, utilization: loopUtilization });
    this.loopDelays = new Since(this.loop.delays);
  }

  begin(): void {
    const due = this.source.now() + RATE_SAMPLE_MS;
    this.cancel = this.source.timers.after(RATE_SAMPLE_MS, () => {
      this.loop.late(Math.max(0, this.source.now() - due));
      this.take();
      this.begin();
    });
  }

  stop(): void {
    this.cancel?.();
    this.loop.stop();
  }

  /** What is newer than `since`, a sample's number; all that is kept without it. */
  rates(since = 0): Rates {
    const first = Math.min(this.taken, Math.max(since, this.taken - RATE_SAMPLES));
    const places = Array.from({ length: this.taken - first }, (_, i) => (first + i) % RATE_SAMPLES);
    const columns: Partial<Record<Column, (number | null)[]>> = {};
    for (const { name, values } of this.columns) {
      columns[name] = places.map((place) => (Number.isNaN(values[place]) ? null : rounded(values[place])));
    }
    return {
      intervalMs: RATE_SAMPLE_MS,
      first,
      next: this.taken,
      atMs: places.map((place) => this.at[place]),
      columns: columns as unknown as RateColumns,
    };
  }

  private take(): void {
    const broker = this.source.broker();
    const server = this.source.server();
    // Without both there is nothing that a chart could show.
    if (broker === undefined || server === undefined) return;
    this.counted ??= new Counted(broker);
    const place = this.taken % RATE_SAMPLES;
    this.at[place] = this.source.clock.now();
    const row = this.row(broker, server, this.counted);
    for (const { name, values } of this.columns) values[place] = row[name];
    this.taken++;
  }

  private row(broker: Broker, server: Server, counted: Counted): Record<Column, number> {
    const { values, errors } = broker.counters;
    const written = counted.written.quantiles();
    const forced = counted.forced.quantiles();
    const fetch = counted.fetch.quantiles();
    const barrier = counted.barrier.quantiles();
    const delays = this.loopDelays.quantiles();
    const loop = this.loop.look();
    return {
      produceRequests: counted.since(values, Count.PRODUCE_REQUESTS),
      produceRecords: counted.since(values, Count.PRODUCE_RECORDS),
      produceBytes: counted.since(values, Count.PRODUCE_BYTES),
      fetchRequests: counted.since(values, Count.FETCH_REQUESTS),
      fetchBytes: counted.since(values, Count.FETCH_BYTES),
      errors: counted.errorsSince(errors),
      barriers: barrier.count,
      produceWrittenP50Ms: written.p50,
      produceWrittenP99Ms: written.p99,
      produceForcedP50Ms: forced.p50,
      produceForcedP99Ms: forced.p99,
      fetchP50Ms: fetch.p50,
      fetchP99Ms: fetch.p99,
      barrierP50Ms: barrier.p50,
      barrierP99Ms: barrier.p99,
      // Its bucket reaches beyond the longest.
      loopDelayP99Ms: Math.min(delays.p99, loop.maxMs),
      loopDelayMaxMs: loop.maxMs,
      loopActive: loop.active,
      fetchesWaiting: broker.waits.purgatory.waiting,
      queuedBytes: queuedBytes(server.counters),
      connections: server.counters[SelectorCounter.CONNECTIONS],
      diskAvailableBytes: broker.diskAvailableBytes,
      residentBytes: process.memoryUsage.rss(),
    };
  }
}

/** Microseconds are enough for a chart, and shorter to send. */
const rounded = (value: number): number => Math.round(value * 1000) / 1000;

const sumOf = (counts: Float64Array): number => counts.reduce((sum, count) => sum + count, 0);
