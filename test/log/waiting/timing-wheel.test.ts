// Deadlines with a clock that the test moves: each level of the wheel, what falls from one to the next, and random lives
// against a list that is searched from end to end.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Timed, TimingWheel } from "../../../src/log/waiting/timing-wheel.js";
import { printedSeed } from "../../support/seed.js";

class Deadline extends Timed {
  constructor(readonly name: number) {
    super();
  }
}

/** Milliseconds at which each of the five levels begins, and beyond the last. */
const LEVELS = [1, 32, 32 ** 2, 32 ** 3, 32 ** 4, 32 ** 5];
/** Where a wheel may stand: at nothing, in the middle of buckets, at the end of one, at the end of several. */
const STANDS = [0, 7, 31, 32, 1023, 32_767, 1_048_575, 1_700_000_000_123];

function expiredAt(wheel: TimingWheel<Deadline>, nowMs: number): number[] {
  const names: number[] = [];
  wheel.advance(nowMs, ({ name }) => names.push(name));
  return names;
}

/** Advances only when `nextDue` says so, as its owner does, until `until`. */
function follow(wheel: TimingWheel<Deadline>, until: number) {
  let wakes = 0;
  const expired: (readonly [at: number, name: number])[] = [];
  for (let due = wheel.nextDue(); due !== undefined && due <= until; due = wheel.nextDue()) {
    wakes++;
    const at = due;
    wheel.advance(at, ({ name }) => expired.push([at, name]));
  }
  return { wakes, expired };
}

describe("a timing wheel", () => {
  it.each(STANDS)("standing at %d expires a deadline of each level at its millisecond, not before", (stand) => {
    for (const level of LEVELS) {
      for (const wait of [level, level + 1, level * 2, level * 31, level * 32 - 1]) {
        const wheel = new TimingWheel<Deadline>(stand);
        wheel.insert(new Deadline(1), stand + wait);
        expect(wheel.nextDue()).toBeLessThanOrEqual(stand + wait);
        expect(expiredAt(wheel, stand + wait - 1)).toEqual([]);
        expect(wheel.size).toBe(1);
        expect(expiredAt(wheel, stand + wait)).toEqual([1]);
        expect(wheel.size).toBe(0);
        expect(wheel.nextDue()).toBeUndefined();
      }
    }
  });

  it("asks to be advanced a few times for each deadline and not for each bucket of time", () => {
    for (const stand of STANDS) {
      for (const wait of [5, 60_000, 3_600_000, 90_000_000]) {
        const wheel = new TimingWheel<Deadline>(stand);
        wheel.insert(new Deadline(1), stand + wait);
        const { wakes, expired } = follow(wheel, stand + wait);
        expect(expired).toEqual([[stand + wait, 1]]);
        expect(wakes).toBeLessThanOrEqual(8);
      }
    }
  });

  it("takes a deadline between two milliseconds for the later one", () => {
    const wheel = new TimingWheel<Deadline>(100.9);
    wheel.insert(new Deadline(1), 110.2);
    expect(expiredAt(wheel, 110.99)).toEqual([]);
    expect(expiredAt(wheel, 111)).toEqual([1]);
  });

  it("expires what was due already with the next millisecond", () => {
    const wheel = new TimingWheel<Deadline>(1000);
    wheel.insert(new Deadline(1), 3);
    expect(wheel.nextDue()).toBe(1001);
    expect(expiredAt(wheel, 1001)).toEqual([1]);
  });

  it("expires in the order of deadlines, also over several levels in one step", () => {
    const waits = [70_000, 3, 40, 1_500_000, 1025, 33, 31, 32, 1024, 32_768, 2];
    const wheel = new TimingWheel<Deadline>(17);
    for (const wait of waits) wheel.insert(new Deadline(wait), 17 + wait);
    expect(expiredAt(wheel, 2_000_000)).toEqual([...waits].sort((a, b) => a - b));
  });

  it("lets go of an entry from any place of its bucket, and may take it in again", () => {
    const wheel = new TimingWheel<Deadline>(0);
    const entries = [0, 1, 2, 3, 4].map((name) => new Deadline(name));
    for (const entry of entries) wheel.insert(entry, 50);
    for (const name of [0, 2, 4]) wheel.cancel(entries[name] as Deadline);
    wheel.cancel(entries[2] as Deadline);
    expect([wheel.size, entries[2]?.isTimed]).toEqual([2, false]);
    wheel.insert(entries[2] as Deadline, 60);
    expect(expiredAt(wheel, 50).sort()).toEqual([1, 3]);
    expect(expiredAt(wheel, 60)).toEqual([2]);
  });

  it("has nothing to do when everything was cancelled", () => {
    const wheel = new TimingWheel<Deadline>(0);
    const entries = LEVELS.map((wait) => new Deadline(wait));
    for (const entry of entries) wheel.insert(entry, entry.name);
    for (const entry of entries) wheel.cancel(entry);
    expect([wheel.size, wheel.nextDue()]).toEqual([0, undefined]);
    expect(expiredAt(wheel, 1e9)).toEqual([]);
  });

  it("takes an entry once", () => {
    const wheel = new TimingWheel<Deadline>(0);
    const entry = new Deadline(1);
    wheel.insert(entry, 5);
    expect(() => wheel.insert(entry, 6)).toThrow("invariant broken");
  });

  it("comes never early after any time without deadlines, also longer than it reaches", () => {
    for (const idle of [1e3, 1e6, 33_554_431, 33_554_432, 1e8, 1e12]) {
      const wheel = new TimingWheel<Deadline>(5);
      wheel.insert(new Deadline(1), idle + 60_000);
      expect(expiredAt(wheel, idle)).toEqual([]);
      expect(expiredAt(wheel, idle + 59_999)).toEqual([]);
      expect(expiredAt(wheel, idle + 60_000)).toEqual([1]);
    }
  });

  it("needs one call for a near deadline when it has caught up, however long nothing waited", () => {
    const wheel = new TimingWheel<Deadline>(0);
    wheel.catchUp(5_000_000.7);
    wheel.insert(new Deadline(1), 5_000_020);
    wheel.catchUp(5_000_010);
    expect(follow(wheel, 5_000_020)).toEqual({ wakes: 1, expired: [[5_000_020, 1]] });
  });

  it("does not catch up while it is being advanced: what comes in then may lie a turn ahead in the same bucket", () => {
    const wheel = new TimingWheel<Deadline>(0);
    wheel.insert(new Deadline(1), 64);
    wheel.advance(1100, () => {
      wheel.catchUp(1100);
      wheel.insert(new Deadline(2), 2112);
    });
    expect(expiredAt(wheel, 2111)).toEqual([]);
    expect(expiredAt(wheel, 2112)).toEqual([2]);
  });

  it("is not advanced from within", () => {
    const wheel = new TimingWheel<Deadline>(0);
    wheel.insert(new Deadline(1), 5);
    expect(() => wheel.advance(5, () => wheel.advance(6, () => undefined))).toThrow("invariant broken");
  });

  it("keeps what never comes due", () => {
    const wheel = new TimingWheel<Deadline>(0);
    const entry = new Deadline(1);
    wheel.insert(entry, Number.POSITIVE_INFINITY);
    expect(expiredAt(wheel, 1e9)).toEqual([]);
    expect(wheel.nextDue()).toBeGreaterThan(1e9);
    wheel.cancel(entry);
    expect(wheel.size).toBe(0);
  });

  it("lets what expires insert and cancel: others of its bucket, for now and for later", () => {
    const wheel = new TimingWheel<Deadline>(0);
    const [first, second, third, late, soon] = [1, 2, 3, 4, 5].map((name) => new Deadline(name)) as Deadline[];
    for (const entry of [first, second, third]) wheel.insert(entry as Deadline, 40);
    const seen: number[] = [];
    wheel.advance(100, (entry) => {
      seen.push(entry.name);
      if (seen.length > 1) return;
      for (const other of [first, second, third]) if (other !== entry) wheel.cancel(other as Deadline);
      wheel.insert(late as Deadline, 101);
      wheel.insert(soon as Deadline, 90);
    });
    expect([seen.length, seen[1]]).toEqual([2, 5]);
    expect(expiredAt(wheel, 101)).toEqual([4]);
  });

  it("in random lives does what a list would do", () => {
    const wait = fc.oneof(
      fc.integer({ min: -3, max: 70 }),
      fc.integer({ min: 0, max: 70_000 }),
      fc.integer({ min: 0, max: 200_000_000 }),
      fc.double({ min: 0, max: 5_000, noNaN: true }),
    );
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ do: fc.constant("insert" as const), wait }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("cancel" as const), which: fc.nat() }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("advance" as const), by: wait }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("next" as const) }) },
    );
    const life = (stand: number, steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]) => {
      const wheel = new TimingWheel<Deadline>(stand);
      let now = stand;
      let list: { readonly entry: Deadline; readonly due: number }[] = [];
      const advance = (to: number) => {
        now = to;
        const due = list.filter((each) => each.due <= Math.floor(now)).sort((a, b) => a.due - b.due);
        list = list.filter((each) => each.due > Math.floor(now));
        const seen: Deadline[] = [];
        wheel.advance(now, (entry) => seen.push(entry));
        expect(new Set(seen)).toEqual(new Set(due.map(({ entry }) => entry)));
        expect(seen.map((entry) => entry.due)).toEqual(due.map((each) => each.due));
      };
      steps.forEach((each, at) => {
        if (each.do === "insert") {
          const entry = new Deadline(at);
          wheel.insert(entry, now + each.wait);
          list.push({ entry, due: Math.max(Math.ceil(now + each.wait), Math.floor(now) + 1) });
        } else if (each.do === "cancel" && list.length > 0) {
          const [gone] = list.splice(each.which % list.length, 1);
          wheel.cancel(gone?.entry as Deadline);
        } else if (each.do === "advance") {
          advance(now + Math.max(0, each.by));
        } else if (each.do === "next") {
          const due = wheel.nextDue();
          if (due !== undefined) advance(Math.max(now, due));
        }
        expect(wheel.size).toBe(list.length);
        const first = Math.min(...list.map(({ due }) => due));
        const due = wheel.nextDue();
        if (due === undefined) expect(list).toEqual([]);
        else expect(due > Math.floor(now) && due <= first).toBe(true);
      });
      advance(now + 400_000_000);
      expect(wheel.nextDue()).toBeUndefined();
    };
    fc.assert(fc.property(fc.constantFrom(...STANDS), fc.array(step, { maxLength: 80 }), life), {
      seed: printedSeed("timing wheel"),
      numRuns: 1_000,
    });
  });
});
