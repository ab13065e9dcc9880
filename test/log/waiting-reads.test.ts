// Reads of an embedded log that wait, on real files: the purgatory on real partitions. Where time itself is the matter the test
// moves the clock; everywhere else a wait that ought to end at once is LONG, so that one that does not fails by never ending,
// however slow the machine is.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Log, type LogOptions, type LogRead, openLog } from "../../src/index.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, texts } from "./support/records.js";

/** Three records of these fit a segment, in both formats. */
const record = (n: number): Uint8Array => bytesOf(`record ${n} `.padEnd(1300, "."));
const SEGMENT_BYTES = 4096;
/** Longer than any test may take. */
const LONG = 3_600_000;
/** Deadlines are kept to the millisecond, never early; the clock that they are taken from has fractions. */
const TICK_MS = 3;
const written = { ack: "written" } as const;
const MODES = ["MAPPED", "FILE_CHANNEL"] as const;

async function opened(options: LogOptions = {}): Promise<Log> {
  const log = await openLog(tempDir(), { segmentBytes: SEGMENT_BYTES, diskReserveBytes: 0, ...options });
  onTestFinished(() => log.close().catch(() => undefined));
  return log;
}

/** Log end 7, segments at 0, 3 and 6. */
async function sevenRecords(options: LogOptions = {}): Promise<Log> {
  const log = await opened(options);
  for (let n = 0; n < 7; n++) await log.append(record(n), written);
  expect(log.segments().map(({ baseOffset }) => baseOffset)).toEqual([0, 3, 6]);
  return log;
}

const facts = ({ records, nextOffset, parked, timedOut }: LogRead) => ({
  records: records.length,
  nextOffset,
  parked,
  timedOut,
});

/** From here on time passes by `pass` alone, for logs that are opened then; files and the event loop go on as they do. */
function stopClock(): { pass(ms: number): Promise<void> } {
  vi.useFakeTimers({ toFake: ["performance", "Date", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  return {
    async pass(ms) {
      vi.advanceTimersByTime(ms);
      // In real time: what became due is told, and read from the files.
      await sleep(10);
    },
  };
}

/** Whether a promise has been settled, so far. */
function watched<T>(work: Promise<T>): { readonly work: Promise<T>; readonly done: boolean } {
  const state = { work, done: false };
  const end = (): void => void Object.assign(state, { done: true });
  work.then(end, end);
  return state;
}

describe.each(MODES)("a waiting read, %s", (mode) => {
  it("F02 F03 never waits in a segment that is not the last, whatever it asks for", async () => {
    const log = await sevenRecords({ mode });
    for (const from of [0, 1, 2, 3, 5]) {
      const read = await log.read(from, { maxWaitMs: LONG, minRecords: 99 });
      expect(facts(read)).toEqual({
        records: 3 - (from % 3),
        nextOffset: from < 3 ? 3 : 6,
        parked: false,
        timedOut: false,
      });
      expect(read.bytes).toBe(read.records.length * 1308);
    }
  });

  it("F04 at the end, with nobody writing, waits for its time and brings nothing: parked and timed out", async () => {
    const clock = stopClock();
    const log = await sevenRecords({ mode });
    const read = watched(log.read(7, { maxWaitMs: 80 }));
    await clock.pass(79);
    expect(read.done).toBe(false);
    await clock.pass(TICK_MS);
    expect(facts(await read.work)).toEqual({ records: 0, nextOffset: 7, parked: true, timedOut: true });
  });

  it("F05 does not wait when there is enough", async () => {
    const log = await sevenRecords({ mode });
    await log.appendBatch([record(7)], written);
    const read = await log.read(6, { maxWaitMs: LONG, minRecords: 2 });
    expect(facts(read)).toEqual({ records: 2, nextOffset: 8, parked: false, timedOut: false });
  });

  it("F06 is answered as soon as enough has come, and brings that", async () => {
    const log = await opened({ mode });
    const read = watched(log.read(0, { maxWaitMs: LONG, minRecords: 2 }));
    await sleep(20);
    await log.append(record(0), written);
    await sleep(20);
    expect(read.done).toBe(false);
    await log.append(record(1), written);
    expect(facts(await read.work)).toEqual({ records: 2, nextOffset: 2, parked: true, timedOut: false });
  });

  it("F07 brings what there is at its deadline, which does not move with what is too little", async () => {
    const clock = stopClock();
    const log = await opened({ mode, segmentBytes: 1024 * 1024 });
    const read = watched(log.read(0, { maxWaitMs: 150, minRecords: 1000 }));
    for (let n = 0; n < 10; n++) {
      await log.append(bytesOf("little"), written);
      await clock.pass(14);
    }
    await clock.pass(9);
    expect(read.done).toBe(false);
    await clock.pass(TICK_MS);
    const { parked, timedOut, records } = await read.work;
    expect([parked, timedOut, records.length]).toEqual([true, true, 10]);
  });

  it("F10 wants bytes as they are stored and records, both", async () => {
    const log = await opened({ mode, recordFormat: "crc32c" });
    let done = false;
    const read = log.read(0, { maxWaitMs: LONG, minBytes: 3 * 18, minRecords: 4 }).then((result) => {
      done = true;
      return result;
    });
    for (let n = 0; n < 4; n++) {
      expect(done).toBe(false);
      await log.append(bytesOf("0123456789"), written);
      await sleep(5);
    }
    expect(facts(await read)).toMatchObject({ records: 4, timedOut: false });
    const bytes = log.read(4, { maxWaitMs: LONG, minBytes: 100 });
    await log.append(new Uint8Array(91).fill(1), written);
    const early = await Promise.race([bytes, sleep(30)]);
    expect(early).toBeUndefined();
    await log.append(bytesOf("x"), written);
    expect(facts(await bytes)).toMatchObject({ records: 2, parked: true });
  });

  it("F08 F12 wakes everybody who waits, wherever they wait from, with nothing missed", async () => {
    const log = await opened({ mode, segmentBytes: 1024 * 1024 });
    const readers = Array.from({ length: 50 }, async (_, reader) => {
      const seen: string[] = [];
      let waits = 0;
      for (let next = 0; next < 300; ) {
        const { records, nextOffset, parked, timedOut } = await log.read(next, {
          maxWaitMs: LONG,
          minRecords: Math.min(1 + (reader % 5), 300 - next),
        });
        expect(timedOut).toBe(false);
        waits += parked ? 1 : 0;
        seen.push(...texts(records));
        next = nextOffset;
      }
      return { seen, waits };
    });
    for (let n = 0; n < 300; n++) {
      await log.append(bytesOf(`record ${n}`), written);
      if (n % 7 === 0) await sleep(1);
    }
    for (const { seen, waits } of await Promise.all(readers)) {
      expect(seen).toEqual(Array.from({ length: 300 }, (_, n) => `record ${n}`));
      expect(waits).toBeGreaterThan(0);
    }
  });

  it("F15 is answered when a roll leaves its offset in an older segment, though it asked for more", async () => {
    const log = await sevenRecords({ mode });
    const read = log.read(6, { maxWaitMs: LONG, minRecords: 99 });
    for (let n = 7; n < 9; n++) await log.append(record(n), written);
    expect(await Promise.race([read, sleep(30)])).toBeUndefined();
    await log.append(record(9), written);
    expect(facts(await read)).toEqual({ records: 3, nextOffset: 9, parked: true, timedOut: false });
  });

  it("F15 is answered by a roll for age, too", async () => {
    const clock = stopClock();
    const log = await opened({ mode, segmentRollMs: 50 });
    await log.append(record(0), written);
    const read = watched(log.read(0, { maxWaitMs: LONG, minRecords: 99 }));
    await clock.pass(49);
    expect(read.done).toBe(false);
    // It rolls when its upkeep comes round, and files have to be made.
    while (!read.done) await clock.pass(50);
    expect(facts(await read.work)).toEqual({ records: 1, nextOffset: 1, parked: true, timedOut: false });
  });

  it("holds no segment back from retention, and says when its offset is gone", async () => {
    const log = await opened({ mode, retentionBytes: 1 });
    await log.append(record(0), written);
    const read = log.read(0, { maxWaitMs: LONG, minRecords: 99 });
    await log.appendBatch([1, 2, 3, 4, 5, 6].map(record), { ack: "forced" });
    expect(facts(await read)).toMatchObject({ records: 3, parked: true });
    const atEnd = log.read(7, { maxWaitMs: LONG });
    await expect.poll(() => log.logStartOffset, { timeout: 20_000 }).toBe(6);
    const outOfRange = expect.objectContaining({ code: "OFFSET_OUT_OF_RANGE" });
    await expect(log.read(0, { maxWaitMs: LONG })).rejects.toThrow(outOfRange);
    await log.append(record(7), written);
    expect(facts(await atEnd)).toMatchObject({ records: 1, parked: true });
  });
});

describe("a waiting read", () => {
  it("F01 of what must be durable waits for the barrier and not for the write", async () => {
    const log = await opened({ visibility: "durable" });
    const read = log.read(0, { maxWaitMs: LONG });
    await log.append(bytesOf("a"), written);
    expect(facts(await read)).toMatchObject({ records: 1, parked: true });
    expect(log.durableOffset).toBe(1);
  });

  it("from what is written and not durable yet counts from there", async () => {
    const log = await opened({ visibility: "durable" });
    const wrote = log.appendBatch(["a", "b", "c"].map(bytesOf), written);
    await wrote;
    const read = log.read(2, { maxWaitMs: LONG });
    expect(texts((await read).records)).toEqual(["c"]);
  });

  it("F03 never waits for an old segment whose index has to be read first", async () => {
    const dir = tempDir();
    const options = { segmentBytes: SEGMENT_BYTES, diskReserveBytes: 0 };
    const before = await openLog(dir, options);
    for (let n = 0; n < 7; n++) await before.append(record(n), written);
    await before.close();
    const log = await openLog(dir, options);
    onTestFinished(() => log.close());
    const read = await log.read(1, { maxWaitMs: LONG, minRecords: 99 });
    expect(facts(read)).toEqual({ records: 2, nextOffset: 3, parked: false, timedOut: false });
  });

  it("is an error at once where the log is not, and at once when nothing is waited for", async () => {
    const log = await sevenRecords();
    const outOfRange = expect.objectContaining({ code: "OFFSET_OUT_OF_RANGE" });
    await expect(log.read(8, { maxWaitMs: LONG })).rejects.toThrow(outOfRange);
    expect(facts(await log.read(7))).toEqual({ records: 0, nextOffset: 7, parked: false, timedOut: false });
  });

  it("ends when maxBytes is there, though minRecords is not", async () => {
    const log = await opened();
    const read = log.read(0, { maxWaitMs: LONG, maxBytes: 1000, minRecords: 99 });
    await log.append(record(0), written);
    expect(facts(await read)).toMatchObject({ records: 1, parked: true, timedOut: false });
  });

  it("is left by its signal, with the signal's reason, before or while it waits", async () => {
    const log = await opened();
    const left = new AbortController();
    const read = log.read(0, { maxWaitMs: LONG, signal: left.signal });
    await sleep(5);
    left.abort(new Error("enough"));
    await expect(read).rejects.toThrow("enough");
    await expect(log.read(0, { maxWaitMs: LONG, signal: left.signal })).rejects.toThrow("enough");
    await log.append(bytesOf("a"), written);
    expect((await log.read(0)).records).toHaveLength(1);
  });

  it("rejects with CLOSED when the log is closed while it waits", async () => {
    const log = await opened();
    const reads = [0, 0, 0].map((from) => log.read(from, { maxWaitMs: LONG }));
    await sleep(5);
    await log.close();
    for (const read of reads) await expect(read).rejects.toThrow(expect.objectContaining({ code: "CLOSED" }));
  });

  it.each([
    ["maxWaitMs", { maxWaitMs: -1 }],
    ["maxWaitMs", { maxWaitMs: 1.5 }],
    ["minBytes", { minBytes: Number.NaN }],
    ["minRecords", { minRecords: -1 }],
    ["minBytes is 2048, which maxBytes, 1024, never reaches", { minBytes: 2048, maxBytes: 1024 }],
  ])("refuses a wrong %s", async (text, options) => {
    const log = await opened();
    const error = expect.objectContaining({ code: "BAD_ARGUMENT", message: expect.stringContaining(text) });
    await expect(log.read(0, options)).rejects.toThrow(error);
  });
});

describe("iterating", () => {
  it("follows: waits at the end, over rolls, until its signal ends it", async () => {
    const log = await sevenRecords();
    const stop = new AbortController();
    const seen: number[] = [];
    const following = (async () => {
      for await (const { offset } of log.iterate({ from: 2, follow: true, signal: stop.signal })) seen.push(offset);
    })();
    const ended = expect(following).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
    await expect.poll(() => seen.length).toBe(5);
    for (let n = 7; n < 20; n++) {
      await log.append(record(n), written);
      if (n % 4 === 0) await expect.poll(() => seen.at(-1)).toBe(n);
    }
    await expect.poll(() => seen.length).toBe(18);
    stop.abort();
    await ended;
    expect(seen).toEqual(Array.from({ length: 18 }, (_, i) => 2 + i));
  });

  it("without following ends where the log ended when it began", async () => {
    const log = await sevenRecords();
    const seen: number[] = [];
    for await (const { offset } of log.iterate()) {
      seen.push(offset);
      if (offset === 3) await log.append(record(7), written);
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it("says that its offset is not there, following or not", async () => {
    const log = await sevenRecords();
    for (const follow of [true, false]) {
      await expect(log.iterate({ from: 99, follow }).next()).rejects.toThrow(
        expect.objectContaining({ code: "OFFSET_OUT_OF_RANGE" }),
      );
    }
  });

  it("that follows ends with CLOSED when the log is closed", async () => {
    const log = await opened();
    const next = log.iterate({ follow: true }).next();
    await sleep(5);
    await log.close();
    await expect(next).rejects.toThrow(expect.objectContaining({ code: "CLOSED" }));
  });
});
