// Random interleavings of everything that can happen to waiting fetches: publishes, barriers, rolls, retention, poisoned
// logs, time, readers that go away, and shutdown. Every request is answered exactly once: none early, none late, none twice; and a
// publish looks only at those whose condition may hold.
//
// MILLRACE_SEED=N replays a run; MILLRACE_RUNS=N makes more of them.

import fc from "fast-check";
import { expect, it } from "vitest";
import type { Isolation } from "../../../src/log/waiting/isolation.js";
import { Purgatory } from "../../../src/log/waiting/purgatory.js";
import { WaitingFetch, WaitState } from "../../../src/log/waiting/waiting-fetch.js";
import { ManualTime } from "../../support/manual-time.js";
import { printedSeed } from "../../support/seed.js";
import { FakePartition, FakePartitions, RECORD_BYTES_MIN } from "./fake-partitions.js";

const PARTITIONS = 4;

const share = fc.double({ min: 0, max: 1, noNaN: true });
const asked = fc.record({
  parts: fc.uniqueArray(
    fc.record({
      partition: fc.nat(PARTITIONS - 1),
      /** From how far before the log's end: mostly from the end itself. */
      back: fc.oneof(
        { weight: 4, arbitrary: fc.constant(0) },
        { weight: 2, arbitrary: fc.integer({ min: -1, max: 6 }) },
      ),
      maxBytes: fc.oneof(
        { weight: 3, arbitrary: fc.constant(10_000) },
        { weight: 1, arbitrary: fc.integer({ min: 1, max: 200 }) },
      ),
    }),
    { minLength: 1, maxLength: PARTITIONS, selector: ({ partition }) => partition },
  ),
  isolation: fc.constantFrom<Isolation>(0, 1),
  maxBytes: fc.oneof(
    { weight: 3, arbitrary: fc.constant(10_000) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 300 }) },
  ),
  minBytes: share,
  minRecords: fc.oneof({ weight: 3, arbitrary: fc.nat(1) }, { weight: 2, arbitrary: fc.nat(8) }),
  waitMs: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 5_000 }), fc.constant(60_000)),
});
type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never;

const partition = fc.nat(PARTITIONS - 1);
const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant("park" as const), asked }) },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant("publish" as const),
      partition,
      sizes: fc.array(fc.integer({ min: RECORD_BYTES_MIN, max: 120 }), { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("force" as const), partition, share }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("roll" as const), partition }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("retain" as const), partition, rollFirst: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("poison" as const), partition }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("cancel" as const), which: fc.nat() }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("time" as const),
      ms: fc.oneof(fc.double({ min: 0, max: 3, noNaN: true }), fc.integer({ min: 0, max: 100 }), fc.nat(30_000)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("again" as const), partition }) },
  { weight: 4, arbitrary: fc.constant({ do: "turn" as const }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
/** What whoever was answered does at once, in the middle of somebody else's publish or deadline. */
const reaction = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("park" as const), asked }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancel" as const), which: fc.nat() }) },
);

class Life {
  readonly time = new ManualTime();
  readonly partitions: FakePartitions;
  readonly purgatory: Purgatory;
  readonly parked = new Set<WaitingFetch>();
  readonly taken: WaitingFetch[] = [];
  /** How each fetch that was taken in ended. */
  readonly ends = new Map<WaitingFetch, string>();
  /** By fetch and partition: up to where the log must have come for another look. */
  private readonly wants = new Map<WaitingFetch, Map<number, number>>();
  released = false;
  private answered = 0;

  constructor(
    durable: boolean,
    /** In turns of so many looks each, as a server has them; undefined: each is done when it is due. */
    private readonly looksPerTurn: number | undefined,
    private readonly reactions: readonly (typeof reaction extends fc.Arbitrary<infer T> ? T : never)[],
  ) {
    const visibility = durable ? "durable" : "written";
    this.partitions = new FakePartitions(
      Array.from({ length: PARTITIONS }, (_, i) => new FakePartition(visibility, i * 5000)),
    );
    this.purgatory = new Purgatory({
      partitions: this.partitions,
      now: () => this.time.monotonicNow(),
      timers: this.time,
      completed: (fetch) => this.completed(fetch),
    });
    if (looksPerTurn !== undefined) this.purgatory.proceed(looksPerTurn);
  }

  of(index: number): FakePartition {
    return this.partitions.all[index] as FakePartition;
  }

  park({ parts, isolation, maxBytes, minBytes, minRecords, waitMs }: Asked): void {
    const now = this.time.monotonicNow();
    const least = Math.floor(minBytes * Math.min(maxBytes, 400));
    const fetch = new WaitingFetch(this.taken.length, least, minRecords, maxBytes, now + waitMs);
    for (const part of parts) {
      const offset = Math.max(0, this.of(part.partition).end - part.back);
      this.partitions.add(fetch, part.partition, isolation, offset, part.maxBytes);
    }
    const holds = this.partitions.holds(fetch);
    const taken = this.purgatory.park(fetch);
    expect(taken).toBe(!holds && waitMs > 0 && !this.released);
    expect(fetch.parked).toBe(taken);
    if (!taken) {
      expect(fetch.timedOut).toBe(!holds && waitMs === 0);
      return;
    }
    this.taken.push(fetch);
    this.parked.add(fetch);
  }

  cancel(which: number): void {
    const fetch = this.taken[which % Math.max(1, this.taken.length)];
    if (fetch === undefined) return;
    this.purgatory.cancel(fetch);
    if (this.parked.delete(fetch)) this.ends.set(fetch, "cancelled");
  }

  private completed(fetch: WaitingFetch): void {
    expect(this.ends.get(fetch), "none twice").toBeUndefined();
    expect(this.parked.delete(fetch)).toBe(true);
    expect([fetch.parked, fetch.state]).toEqual([true, WaitState.DONE]);
    const now = this.time.monotonicNow();
    if (fetch.timedOut) {
      expect(now, "none early").toBeGreaterThanOrEqual(fetch.deadlineMs);
      expect(now, "none late").toBeLessThanOrEqual(Math.ceil(fetch.deadlineMs));
      this.ends.set(fetch, "timed out");
    } else {
      expect(this.released || this.partitions.holds(fetch), "none early").toBe(true);
      this.ends.set(fetch, this.released ? "released" : "woken");
    }
    const then = this.reactions[this.answered++ % Math.max(1, this.reactions.length)];
    if (then?.do === "park" && this.answered < 500) this.park(then.asked);
    if (then?.do === "cancel") this.cancel(then.which);
  }

  /** Tells of a publish and checks who was looked at for it: whose share of what was lacking has come. */
  private published(index: number): void {
    const before = new Map(this.wants);
    this.partitions.looks.length = 0;
    this.purgatory.published(index);
    // In turns, the looks that come now may be for the sake of anything that happened before.
    if (this.looksPerTurn !== undefined) return;
    for (const { fetch } of new Set(this.partitions.looks)) {
      // Parked in answer to one that ended meanwhile: looked at when it came, and not for the publish.
      const wanted = before.get(fetch)?.get(index);
      if (wanted === undefined) continue;
      const isolation = fetch.parts[0]?.isolation as Isolation;
      expect(this.partitions.end(index, isolation), "a look only where it may be enough").toBeGreaterThanOrEqual(
        wanted,
      );
    }
  }

  /** Of those that were looked at: how far each of their partitions must have grown before they are again. */
  private remember(): void {
    const { partitions, wants } = this;
    for (const { fetch } of new Set(partitions.looks)) {
      if (!this.parked.has(fetch)) continue;
      const all = fetch.parts.map((part) => partitions.readable(part));
      const bytes = all.reduce((sum, each) => sum + each.bytes, 0);
      const records = all.reduce((sum, each) => sum + each.records, 0);
      const lacking = Math.max(1, fetch.minBytes) - bytes;
      const lackingRecords = (Math.max(1, fetch.minRecords) - records) * RECORD_BYTES_MIN;
      const least = Math.min(Math.max(lacking, lackingRecords), fetch.maxBytes - bytes);
      const wanted = new Map<number, number>();
      for (const part of fetch.parts) {
        const from = partitions.of(part).at(part.offset);
        const end = Math.max(from, partitions.end(part.partition, part.isolation));
        wanted.set(part.partition, Math.min(end + least / fetch.parts.length, from + part.maxBytes));
      }
      wants.set(fetch, wanted);
    }
    partitions.looks.length = 0;
  }

  carryOut(each: Step): void {
    if (each.do === "park") this.park(each.asked);
    else if (each.do === "cancel") this.cancel(each.which);
    else if (each.do === "time") this.time.advance(each.ms);
    else if (each.do === "turn") this.turn();
    else if (each.do === "again") {
      this.published(each.partition);
      this.purgatory.recheck(each.partition);
    } else this.happen(each);
    this.settled();
    this.remember();
  }

  private turn(): void {
    if (this.looksPerTurn === undefined) return;
    this.partitions.looks.length = 0;
    this.purgatory.proceed(this.looksPerTurn);
    // Whoever is parked in answer is looked at beyond that.
    if (this.reactions.length > 0) return;
    expect(new Set(this.partitions.looks.map(({ fetch }) => fetch)).size).toBeLessThanOrEqual(this.looksPerTurn);
  }

  private happen(each: Exclude<Step, { readonly do: "park" | "cancel" | "time" | "again" | "turn" }>): void {
    const one = this.of(each.partition);
    if (each.do === "publish") {
      if (one.poisoned) return;
      one.append(each.sizes);
      this.published(each.partition);
    } else if (each.do === "force") {
      if (one.poisoned) return;
      one.durable += Math.ceil((one.end - one.durable) * each.share);
      this.published(each.partition);
    } else {
      if (each.do === "poison") one.poisoned = true;
      if (each.do === "roll" || (each.do === "retain" && each.rollFirst)) one.roll();
      if (each.do === "retain") {
        // Only what is durable is removed.
        one.durable = Math.max(one.durable, one.activeBase);
        one.retain();
      }
      this.purgatory.recheck(each.partition);
    }
  }

  /** What must hold whenever nobody is in the middle of something. */
  settled(): void {
    const now = this.time.monotonicNow();
    for (const fetch of this.parked) {
      if (!this.purgatory.hasMore) expect(this.partitions.holds(fetch), "none late").toBe(false);
      expect(Math.ceil(fetch.deadlineMs), "none late").toBeGreaterThan(now);
    }
    const { parkedTotal, expiredTotal, wokenTotal, waiting } = this.purgatory;
    const count = (end: string) => [...this.ends.values()].filter((each) => each === end).length;
    expect({ parkedTotal, expiredTotal, wokenTotal, waiting }).toEqual({
      parkedTotal: this.taken.length,
      expiredTotal: count("timed out"),
      wokenTotal: count("woken") + count("released"),
      waiting: this.parked.size,
    });
  }

  end(byShutdown: boolean): void {
    if (!byShutdown) {
      for (let turns = 0; this.purgatory.hasMore; turns++) {
        expect(turns).toBeLessThan(10_000);
        this.turn();
      }
      this.settled();
    }
    if (byShutdown) {
      this.released = true;
      this.purgatory.releaseAll();
    } else {
      this.time.advance(2 * 60_000);
    }
    this.settled();
    if (byShutdown) expect(this.parked.size).toBe(0);
    // Those who were parked in answer to a deadline have their own.
    for (let i = 0; i < 500 && this.parked.size > 0; i++) this.time.advance(60_001);
    expect([...this.taken].filter((fetch) => !this.ends.has(fetch))).toEqual([]);
    expect([this.purgatory.waiting, this.time.armed]).toEqual([0, 0]);
  }
}

it("answers each waiting fetch exactly once, none early, none late, none twice, looking only where it may be enough", () => {
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.constantFrom(undefined, undefined, 1, 2, 5),
      fc.array(step, { maxLength: 60 }),
      fc.array(reaction, { maxLength: 12 }),
      fc.boolean(),
      (durable, looksPerTurn, steps, reactions, byShutdown) => {
        const life = new Life(durable, looksPerTurn, reactions);
        for (const each of steps) life.carryOut(each);
        life.end(byShutdown);
      },
    ),
    { seed: printedSeed("purgatory"), numRuns: Number(process.env.MILLRACE_RUNS ?? 400) },
  );
});
