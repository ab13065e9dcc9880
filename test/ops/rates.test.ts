// The numbers of each second: what came in it and nothing else, how late the loop was, and no more of them than are kept.

import { describe, expect, it } from "vitest";
import type { Broker } from "../../src/broker/broker.js";
import { Count, Counters, Timed } from "../../src/broker/counters.js";
import { BarrierMeter } from "../../src/log/barrier-meter.js";
import { RATE_SAMPLES } from "../../src/model/limits.js";
import { SELECTOR_COUNTERS } from "../../src/native/binding.js";
import { RateSampler } from "../../src/ops/api/rates.js";
import { LoopWatch } from "../../src/ops/metrics/loop-watch.js";
import type { OpsSource } from "../../src/ops/ops-source.js";
import type { Server } from "../../src/server/server.js";
import { ManualTime } from "../support/manual-time.js";

class Play {
  readonly time = new ManualTime();
  readonly counters = new Counters();
  readonly barriers = new BarrierMeter();
  broker: Broker | undefined;
  readonly rates: RateSampler;

  constructor() {
    const server = { counters: new Float64Array(SELECTOR_COUNTERS) } as unknown as Server;
    this.rates = new RateSampler({
      broker: () => this.broker,
      server: () => server,
      clock: { now: () => 1_000_000 + this.time.monotonicNow() },
      now: () => this.time.monotonicNow(),
      timers: this.time,
    } as unknown as OpsSource);
    this.rates.begin();
  }

  open(): void {
    this.broker = {
      counters: this.counters,
      scheduler: { barriers: this.barriers },
      waits: { purgatory: { waiting: 5 } },
      diskAvailableBytes: 77,
    } as unknown as Broker;
  }
}

describe("rates", () => {
  it("are of the second, from when the broker is there", () => {
    const { time, rates } = new Play();
    time.advance(2500);
    expect(rates.rates()).toMatchObject({ first: 0, next: 0, atMs: [], columns: { produceBytes: [] } });
  });

  it("count what came since the second before", () => {
    const play = new Play();
    const { time, counters, barriers, rates } = play;
    counters.values[Count.PRODUCE_RECORDS] = 1000;
    play.open();
    time.advance(1000);
    counters.values[Count.PRODUCE_RECORDS] += 7;
    counters.fail(7);
    for (let i = 0; i < 100; i++) counters.latencies[Timed.PRODUCE_FORCED].observeMs(2);
    barriers.durations.observeMs(1);
    time.advance(1000);
    time.advance(1000);
    const { first, next, atMs, columns } = rates.rates();
    expect([first, next, atMs]).toEqual([0, 3, [1_001_000, 1_002_000, 1_003_000]]);
    expect(columns.produceRecords).toEqual([0, 7, 0]);
    expect(columns.errors).toEqual([0, 1, 0]);
    expect(columns.barriers).toEqual([0, 1, 0]);
    expect(columns.produceForcedP99Ms).toEqual([null, expect.closeTo(2, 0), null]);
    expect(columns.produceWrittenP50Ms).toEqual([null, null, null]);
    expect(columns.fetchesWaiting).toEqual([5, 5, 5]);
    expect(columns.diskAvailableBytes).toEqual([77, 77, 77]);
    const since = rates.rates(2);
    expect([since.first, since.next, since.atMs]).toEqual([2, 3, [1_003_000]]);
    expect(rates.rates(99)).toMatchObject({ first: 3, next: 3, atMs: [] });
  });

  it("have no quantile of the loop's delay beyond the longest, although its bucket reaches further", () => {
    const play = new Play();
    play.open();
    for (let i = 0; i < 200; i++) play.rates.loop.late(0.213);
    play.time.advance(1000);
    play.time.advance(1000);
    const { loopDelayP99Ms, loopDelayMaxMs } = play.rates.rates().columns;
    expect([loopDelayP99Ms, loopDelayMaxMs]).toEqual([
      [0.213, 0],
      [0.213, 0],
    ]);
  });

  it("are kept for ten minutes", () => {
    const play = new Play();
    play.open();
    play.counters.values[Count.FETCH_BYTES] = 1;
    for (let second = 1; second <= RATE_SAMPLES + 5; second++) {
      play.counters.values[Count.FETCH_BYTES] += second;
      play.time.advance(1000);
    }
    const { first, next, atMs, columns } = play.rates.rates();
    expect([first, next, atMs.length]).toEqual([5, RATE_SAMPLES + 5, RATE_SAMPLES]);
    expect([columns.fetchBytes[0], columns.fetchBytes.at(-1)]).toEqual([6, RATE_SAMPLES + 5]);
  });
});

describe("the watch of the event loop", () => {
  it("asks how late it is while it works, and not while it idles", () => {
    const time = new ManualTime();
    const used = { active: 0, idle: 0 };
    const watch = new LoopWatch({ timers: time, now: () => time.monotonicNow(), utilization: () => ({ ...used }) });
    used.idle = 1000;
    watch.look();
    expect([watch.probing, time.armed]).toEqual([false, 0]);
    used.active = 100;
    used.idle = 1900;
    expect(watch.look().active).toBeCloseTo(0.1);
    expect(watch.probing).toBe(true);
    time.advance(200);
    expect(watch.delays.total).toBe(10);
    expect(watch.delays.sum).toBe(0);
    watch.late(35);
    expect(watch.look().maxMs).toBe(35);
    used.idle += 10_000;
    expect(watch.look().maxMs).toBe(0);
    expect([watch.probing, time.armed]).toEqual([false, 0]);
  });
});
