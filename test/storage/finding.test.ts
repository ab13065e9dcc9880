// Where a read finds its bytes, without I/O, and a time its offset, on real files.

import { describe, expect, it } from "vitest";
import { ReadOutcome, ReadPlan } from "../../src/storage/read-plan.js";
import { tempDir } from "../support/tmp.js";
import { type Opened, open } from "./support/opened.js";
import { payload } from "./support/records.js";

describe("a plan", () => {
  const opened = async (): Promise<Opened> => {
    const it = await open(tempDir(), { format: "plain", segmentBytes: 4096, indexIntervalBytes: 256 });
    for (let number = 0; number < 100; number++) await it.append(payload(number, 96));
    return it;
  };

  it("is for one segment, ends at the last byte that was asked for, and never goes above the ceiling", async () => {
    const it = await opened();
    expect(it.log.segments().map(({ baseOffset }) => baseOffset)).toEqual([0, 40, 80]);
    for (const from of [0, 1, 39, 40, 79, 80, 99]) {
      for (const maxBytes of [1, 99, 100, 150, 100_000]) {
        for (const ceiling of [from + 1, from + 2, 41, 79, 95, 100]) {
          const plan = await it.plan(from, maxBytes, ceiling);
          if (ceiling <= from) {
            expect(plan.outcome).toBe(ReadOutcome.EMPTY);
            continue;
          }
          const segmentEnd = from < 40 ? 40 : from < 80 ? 80 : 100;
          const records = Math.min(segmentEnd, ceiling) - from;
          expect(plan.position).toBe((from % 40) * 100);
          expect(plan.bytes).toBe(Math.min(maxBytes, records * 100));
        }
      }
    }
    await it.close();
  });

  it("at the ceiling has nothing to read yet, and beyond the end is out of range", async () => {
    const it = await opened();
    for (const offset of [50, 70, 100]) expect((await it.plan(offset, 100, 50)).outcome).toBe(ReadOutcome.EMPTY);
    expect((await it.plan(101, 100, 50)).outcome).toBe(ReadOutcome.OUT_OF_RANGE);
    await it.close();
  });

  it("does no I/O: what is not in memory is said, and loaded by who asked", async () => {
    const dir = tempDir();
    const first = await open(dir, { format: "crc32c", segmentBytes: 4096 });
    for (let number = 0; number < 100; number++) await first.append(payload(number, 100));
    await first.close();
    const it = await open(dir, { format: "crc32c", segmentBytes: 4096 });
    const plan = new ReadPlan();
    it.log.plan(5, 100, it.log.logEndOffset, plan);
    expect(plan.outcome).toBe(ReadOutcome.NEEDS_IO);
    expect(plan.file).toBeUndefined();
    await Promise.all([it.log.load(5), it.log.load(6), it.log.load(50)]);
    it.log.plan(5, 100, it.log.logEndOffset, plan);
    expect(plan.outcome).toBe(ReadOutcome.DATA);
    expect(plan.position).toBe(5 * 108);
    await it.close();
  });

  it("of a closed log brings nothing into memory any more", async () => {
    const it = await opened();
    await it.close();
    await expect(it.log.load(5)).rejects.toMatchObject({ code: "CLOSED" });
    await expect(it.append(payload(0, 10))).rejects.toMatchObject({ code: "CLOSED" });
    await expect(it.log.force()).rejects.toMatchObject({ code: "CLOSED" });
    await it.close();
  });

  it("says whether an offset lies in the active segment", async () => {
    const it = await opened();
    expect([0, 79, 80, 100].map((offset) => it.log.isActive(offset))).toEqual([false, false, true, true]);
    await it.close();
  });

  it("counts bytes between offsets across segments", async () => {
    const it = await opened();
    await it.log.settled();
    for (const offset of [0, 45, 85]) await it.log.load(offset);
    for (const [from, to] of [
      [0, 100],
      [0, 40],
      [3, 45],
      [39, 81],
      [85, 86],
      [100, 100],
      [60, 50],
    ]) {
      expect(it.log.bytesBetween(from, to)).toBe(Math.max(0, to - from) * 100);
    }
    await it.close();
  });
});

describe("times", () => {
  it("a clock that goes back never makes the index unsorted, and time finds offsets never too late", async () => {
    const dir = tempDir();
    const opened = await open(dir, { format: "plain", segmentBytes: 4096, indexIntervalBytes: 500 });
    const start = opened.clock.ms;
    const times: number[] = [];
    for (let number = 0; number < 100; number++) {
      opened.clock.ms += number % 10 === 9 ? -500 : 100;
      await opened.append(payload(number, 96));
      times.push(Math.max(times.at(-1) ?? 0, opened.clock.ms));
    }
    const check = async (from: Opened): Promise<void> => {
      for (let ms = start - 100; ms < times[99] + 300; ms += 50) {
        const found = await from.log.offsetAtTime(ms);
        const first = times.findIndex((time) => time >= ms);
        if (first < 0) {
          expect(found).toBeUndefined();
          continue;
        }
        expect(found!.offset).toBeLessThanOrEqual(first);
        // Early by an index interval: five records, or the rest of a segment's start.
        expect(found!.offset).toBeGreaterThanOrEqual(times.indexOf(times[first]) - 6);
      }
    };
    await check(opened);
    await opened.close();
    const again = await open(dir, { format: "plain", segmentBytes: 4096 });
    await check(again);
    await again.close();
  });
});
