// The embedded log through its public face, on real files.

import { open, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DamagedRecordError, type Log, type LogOptions, openLog } from "../../src/index.js";
import { native } from "../../src/native/binding.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, collect, texts } from "./support/records.js";

const paths = ["MAPPED", "FILE_CHANNEL"] as const;
const formats = ["crc32c", "plain"] as const;
/** Small enough that a test is quick, and a disk that is nearly full does not matter. */
const small: LogOptions = { segmentBytes: 1024 * 1024, diskReserveBytes: 0 };
const variants = paths.flatMap((mode) => formats.map((recordFormat) => ({ mode, recordFormat })));

describe.each(variants)("a log, $mode and $recordFormat", (variant) => {
  const options = { ...small, ...variant };

  it("S07 an append answers the offset of its first record, and the log end moves by as many as it has", async () => {
    await using log = await openLog(tempDir(), options);
    expect(await log.append(bytesOf("zero"))).toBe(0);
    expect(await log.appendBatch(["one", "two", "three"].map(bytesOf), { ack: "written" })).toBe(1);
    expect(log.logEndOffset).toBe(4);
    const { records, nextOffset } = await log.read(0);
    expect(records.map(({ offset }) => offset)).toEqual([0, 1, 2, 3]);
    expect(texts(records)).toEqual(["zero", "one", "two", "three"]);
    expect(nextOffset).toBe(4);
  });

  it("S08 C1 64 producers with 25 batches of 4 records each, all at once, get offsets of their own without gaps", async () => {
    await using log = await openLog(tempDir(), { ...options, segmentBytes: 64 * 1024 });
    const batches = Array.from({ length: 64 * 25 }, (_, n) =>
      [0, 1, 2, 3].map((i) => bytesOf(`batch ${n} record ${i}`)),
    );
    const bases = await Promise.all(
      batches.map((records, n) => log.appendBatch(records, { ack: n % 2 ? "written" : "forced" })),
    );
    expect([...bases].sort((a, b) => a - b)).toEqual(Array.from({ length: 1600 }, (_, n) => n * 4));
    expect(log.logEndOffset).toBe(6400);
    const records = await collect(log.replay());
    expect(records.map(({ offset }) => offset)).toEqual(Array.from({ length: 6400 }, (_, n) => n));
    const all = texts(records);
    for (const [n, base] of bases.entries()) {
      expect(all.slice(base, base + 4)).toEqual([0, 1, 2, 3].map((i) => `batch ${n} record ${i}`));
    }
    // Calls keep their order.
    expect(bases).toEqual([...bases].sort((a, b) => a - b));
  });

  it("S09 200 producers that want it forced, all at once, share at least ten times fewer barriers", async () => {
    await using log = await openLog(tempDir(), options);
    await log.append(bytesOf("the first barrier also makes the file known to its directory"));
    const before = native.barrierCount();
    await Promise.all(Array.from({ length: 200 }, (_, n) => log.append(bytesOf(`record ${n}`))));
    const barriers = native.barrierCount() - before;
    expect(log.durableOffset).toBe(201);
    expect(barriers).toBeGreaterThan(0);
    expect(barriers).toBeLessThanOrEqual(20);
  });

  it("C3 C6 no reader ever sees an offset with nothing behind it", async () => {
    await using log = await openLog(tempDir(), { ...options, segmentBytes: 256 * 1024 });
    const total = 20_000;
    const writing = (async () => {
      for (let n = 0; n < total; n += 50) {
        const records = Array.from({ length: 50 }, (_, i) => bytesOf(`record ${n + i}`));
        await log.appendBatch(records, { ack: "written" });
      }
    })();
    let next = 0;
    while (next < total) {
      const end = log.highWatermark;
      const { records, nextOffset } = await log.read(next);
      // All that was below the high watermark is there, or a next segment begins.
      if (end > next) expect(records.length).toBeGreaterThan(0);
      for (const [i, text] of texts(records).entries()) expect(text).toBe(`record ${next + i}`);
      next = nextOffset;
    }
    await writing;
  });

  it("C5 written is not durable: only force makes it so, by a real barrier", async () => {
    await using log = await openLog(tempDir(), options);
    const before = native.barrierCount();
    await log.append(bytesOf("a"), { ack: "written" });
    expect([log.logEndOffset, log.durableOffset]).toEqual([1, 0]);
    const idle = native.barrierCount();
    expect(await log.force()).toBe(1);
    expect(log.durableOffset).toBe(1);
    expect(native.barrierCount()).toBeGreaterThan(Math.max(before, idle));
    // Nothing is left to force.
    const forced = native.barrierCount();
    await log.force();
    expect(native.barrierCount()).toBe(forced);
  });

  it("is there after it was closed and opened again, and goes on where it ended", async () => {
    const dir = tempDir();
    {
      await using log = await openLog(dir, { ...options, segmentBytes: 64 * 1024 });
      for (let n = 0; n < 3000; n += 100) {
        await log.appendBatch(
          Array.from({ length: 100 }, (_, i) => bytesOf(`record ${n + i}`.padEnd(64))),
          { ack: "written" },
        );
      }
    }
    await using log = await openLog(dir, options);
    expect(log.recovery).toMatchObject({ clean: true, tornBytes: 0 });
    expect(log.durableOffset).toBe(3000);
    expect(await log.append(bytesOf("next"))).toBe(3000);
    expect((await collect(log.replay(2999))).map(({ offset }) => offset)).toEqual([2999, 3000]);
  });
});

describe("appending", () => {
  it("keeps the order of the calls when a batch larger than a segment is among them", async () => {
    await using log = await openLog(tempDir(), { ...small, segmentBytes: 4096 });
    const large = Array.from({ length: 100 }, (_, i) => bytesOf(`large ${i}`.padEnd(500)));
    const bases = await Promise.all([
      log.append(bytesOf("before"), { ack: "written" }),
      log.appendBatch(large),
      log.append(bytesOf("after")),
    ]);
    expect(bases).toEqual([0, 1, 101]);
    expect(texts(await collect(log))).toEqual(["before", ...large.map((_, i) => `large ${i}`.padEnd(500)), "after"]);
  });

  it("is slowed down and not refused when a program appends faster than the disk takes it", async () => {
    await using log = await openLog(tempDir(), { ...small, segmentBytes: 4 * 1024 * 1024 });
    const record = new Uint8Array(10_000).fill(7);
    const bases = await Promise.all(Array.from({ length: 4000 }, () => log.append(record, { ack: "written" })));
    expect(bases).toEqual(Array.from({ length: 4000 }, (_, n) => n));
  });

  it("lets timers and other work through while it is awaited in a loop", async () => {
    await using log = await openLog(tempDir(), small);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    // As many as it takes on a slow machine; where timers starve, none of them comes however many there are.
    for (let n = 0; n < 100_000 && ticks < 10; n++) await log.append(bytesOf("x"), { ack: "written" });
    clearInterval(timer);
    expect(ticks).toBeGreaterThanOrEqual(10);
  });

  it("P11 writes nothing when the log does not end at the expected offset", async () => {
    await using log = await openLog(tempDir(), small);
    const outcomes = await Promise.allSettled([
      log.append(bytesOf("first"), { expectedOffset: 0 }),
      log.append(bytesOf("second"), { expectedOffset: 0 }),
      log.append(bytesOf("third"), { expectedOffset: 1 }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(outcomes[1]).toMatchObject({ reason: { code: "OFFSET_MISMATCH" } });
    expect(texts(await collect(log))).toEqual(["first", "third"]);
  });

  it("with visibility durable shows a record only when it is forced, without anybody asking for it", async () => {
    await using log = await openLog(tempDir(), { ...small, visibility: "durable" });
    await log.append(bytesOf("a"), { ack: "written" });
    expect(log.logEndOffset).toBe(1);
    expect(log.highWatermark).toBe(0);
    expect((await log.read(0)).records).toEqual([]);
    await expect.poll(() => log.highWatermark).toBe(1);
    expect(texts((await log.read(0)).records)).toEqual(["a"]);
  });

  it("flushEveryMs forces what was only written", async () => {
    await using log = await openLog(tempDir(), { ...small, flushEveryMs: 20 });
    await log.append(bytesOf("a"), { ack: "written" });
    await expect.poll(() => log.durableOffset).toBe(1);
  });
});

describe("old segments", () => {
  const filled = async (options: LogOptions): Promise<Log> => {
    const log = await openLog(tempDir(), { ...small, segmentBytes: 8192, ...options });
    for (let n = 0; n < 100; n++) await log.append(bytesOf(`record ${n}`.padEnd(1000)));
    return log;
  };

  it("S13 are removed when the log is larger than retentionBytes; the log start moves up, and the rest is read", async () => {
    await using log = await filled({ retentionBytes: 1 });
    await expect.poll(() => log.logStartOffset).toBe(96);
    expect((await collect(log)).map(({ offset }) => offset)).toEqual([96, 97, 98, 99]);
    await expect(log.read(95)).rejects.toMatchObject({ code: "OFFSET_OUT_OF_RANGE", message: /96 to 100/ });
    expect(await log.append(bytesOf("next"))).toBe(100);
  });

  it("are removed by the age of their last record, also of a log that nobody writes to, when a roll by age is asked for", async () => {
    const rolled: string[] = [];
    await using log = await filled({
      retentionMs: 300,
      segmentRollMs: 300,
      onEvent: (event) => event.kind === "segment.rolled" && rolled.push(event.reason),
    });
    await expect.poll(() => log.logStartOffset).toBe(100);
    expect(rolled.at(-1)).toBe("age");
    expect(await collect(log)).toEqual([]);
  });

  it("stay while nothing is asked for", async () => {
    await using log = await filled({});
    expect(log.logStartOffset).toBe(0);
    expect((await collect(log)).length).toBe(100);
  });
});

describe("reading", () => {
  it("brings at least one record, however small maxBytes is, and never goes beyond a segment", async () => {
    await using log = await openLog(tempDir(), { ...small, segmentBytes: 8192 });
    const all = Array.from({ length: 200 }, (_, n) => `${n}`.padEnd(1 + ((n * 37) % 900)));
    await log.appendBatch(all.map(bytesOf), { ack: "written" });
    const read: string[] = [];
    for (let next = 0; next < log.logEndOffset; ) {
      const { records, nextOffset } = await log.read(next, { maxBytes: 1 });
      expect(records).toHaveLength(1);
      read.push(...texts(records));
      next = nextOffset;
    }
    expect(read).toEqual(all);
    for (let from = 0; from < 200; from += 7) {
      const { records } = await log.read(from, { maxBytes: 2000 });
      expect(records[0]?.offset).toBe(from);
      expect(texts(records)).toEqual(all.slice(from, from + records.length));
    }
  });

  it("at the end there is nothing, and beyond it an error that names the log's bounds", async () => {
    await using log = await openLog(tempDir(), small);
    await log.append(bytesOf("a"));
    expect(await log.read(1)).toMatchObject({ records: [], nextOffset: 1 });
    await expect(log.read(2)).rejects.toMatchObject({ code: "OFFSET_OUT_OF_RANGE", message: /offset 2 .* 0 to 1/ });
    await expect(collect(log.replay(2))).rejects.toMatchObject({ code: "OFFSET_OUT_OF_RANGE" });
    expect(await collect(log.replay(1))).toEqual([]);
  });

  it("replay ends at the high watermark it began with, also while appending goes on", async () => {
    await using log = await openLog(tempDir(), small);
    await log.appendBatch(["a", "b"].map(bytesOf));
    const read: string[] = [];
    for await (const record of log) {
      read.push(...texts([record]));
      await log.append(bytesOf("more"), { ack: "written" });
    }
    expect(read).toEqual(["a", "b"]);
  });

  it("S15 a flipped bit in a stored payload is found, and the error names offset, file and position", async () => {
    const dir = tempDir();
    await using log = await openLog(dir, small);
    await log.appendBatch(Array.from({ length: 10 }, (_, n) => bytesOf(`record ${n}`)));
    await flipBit(dir, 5 * (8 + 8) + 8 + 3);
    const damaged = log.read(0);
    await expect(damaged).rejects.toBeInstanceOf(DamagedRecordError);
    await expect(damaged).rejects.toMatchObject({ code: "CORRUPT_RECORD", offset: 5, position: 80, path: /\.log$/ });
    // The records before it can be read.
    const before = await log.read(0, { maxBytes: 5 * 16 });
    expect(before.records).toHaveLength(5);
    // A length that cannot be, and one that leads beyond the end.
    await flipBit(dir, 5 * 16, 0x80);
    await expect(log.read(5)).rejects.toMatchObject({ code: "CORRUPT_RECORD", offset: 5, message: /length is -/ });
    // Nothing behind it can be found.
    await expect(log.read(8)).rejects.toMatchObject({
      code: "STORAGE_FAILURE",
      message: /records before it are damaged/,
    });
    await flipBit(dir, 5 * 16, 0x80);
    await flipBit(dir, 9 * 16 + 2, 0x08);
    await expect(log.read(9)).rejects.toMatchObject({ code: "CORRUPT_RECORD", offset: 9, message: /beyond/ });
  });
});

async function flipBit(dir: string, position: number, bit = 1): Promise<void> {
  const name = (await readdir(dir)).find((each) => each.endsWith(".log")) as string;
  const file = await open(join(dir, name), "r+");
  const byte = new Uint8Array(1);
  await file.read(byte, 0, 1, position);
  byte[0] = (byte[0] as number) ^ bit;
  await file.write(byte, 0, 1, position);
  await file.close();
}

describe("opening and closing", () => {
  it("is refused while somebody has the directory, and names the process", async () => {
    const dir = tempDir();
    await using log = await openLog(dir, small);
    await expect(openLog(log.dir, small)).rejects.toMatchObject({
      code: "PARTITION_IN_USE",
      message: new RegExp(`${process.pid}`),
    });
  });

  it.each([
    [{ segmentBytes: 100 }, /segmentBytes: got 100, expected a whole number of bytes from 4096/],
    [{ segmentBytes: "128MiB" }, /segmentBytes: got "128MiB", expected/],
    [{ mode: "mmap" }, /mode: got "mmap", expected "MAPPED" or "FILE_CHANNEL"/],
    [{ recordFormat: "crc32" }, /recordFormat: got "crc32", expected "plain" or "crc32c"/],
    [{ segmentSize: 1 }, /"segmentSize" is no option of the log; there are mode, segmentBytes/],
    [{ flushEveryMs: 0 }, /flushEveryMs: got 0, expected a whole number of milliseconds, at least 1/],
    [{ onEvent: "log" }, /onEvent: got "log", expected a function/],
    ["fast", /options: got "fast", expected an object/],
  ])("refuses %j and says what was expected", async (options, message) => {
    const dir = tempDir();
    await expect(openLog(dir, options as LogOptions)).rejects.toMatchObject({ code: "BAD_ARGUMENT", message });
    expect(await readdir(dir)).toEqual([]);
  });

  it("says what the system says when the directory cannot be used", async () => {
    const file = join(tempDir(), "file");
    await writeFile(file, "");
    await expect(openLog(join(file, "log"))).rejects.toMatchObject({
      code: "STORAGE_FAILURE",
      message: /the log in .*file\/log cannot be opened: .*file is there, and is no directory/,
      cause: { code: "ENOTDIR" },
    });
    await expect(openLog("")).rejects.toMatchObject({
      code: "BAD_ARGUMENT",
      message: /dir: got "", expected the path/,
    });
  });

  it("refuses what is no record, and says what was expected", async () => {
    await using log = await openLog(tempDir(), small);
    const bad = { code: "BAD_ARGUMENT" };
    await expect(log.append("text" as never)).rejects.toMatchObject({
      ...bad,
      message: /record 0: got "text", expected a/,
    });
    await expect(log.append(new Uint8Array(0))).rejects.toMatchObject({
      ...bad,
      message: /record 0: got an empty one/,
    });
    await expect(log.appendBatch([])).rejects.toMatchObject({ ...bad, message: /at least one/ });
    await expect(log.append(bytesOf("a"), { ack: "all" as never })).rejects.toMatchObject({
      ...bad,
      message: /ack: got "all"/,
    });
    await expect(log.append(bytesOf("a"), { expectedOffset: -1 })).rejects.toMatchObject(bad);
    await expect(log.read(-1)).rejects.toMatchObject(bad);
    await expect(log.read(0.5)).rejects.toMatchObject(bad);
    await expect(log.read(0, { maxBytes: 0 })).rejects.toMatchObject({ ...bad, message: /maxBytes: got 0/ });
    expect(log.logEndOffset).toBe(0);
  });

  it("C4 refuses a record that does not fit a segment, never cuts it", async () => {
    await using log = await openLog(tempDir(), { ...small, segmentBytes: 4096 });
    await expect(log.append(new Uint8Array(4096).fill(1))).rejects.toMatchObject({
      code: "RECORD_TOO_LARGE",
      message: /has 4096 bytes; a segment of this log takes 40\d\d at most/,
    });
    const largest = new Uint8Array(4096 - 8).fill(1);
    expect(await log.append(largest)).toBe(0);
    expect((await log.read(0)).records[0]?.payload.length).toBe(largest.length);
  });

  it("close writes and forces what was appended, is idempotent, and everything after it is CLOSED", async () => {
    const dir = tempDir();
    const log = await openLog(dir, small);
    const appends = Array.from({ length: 100 }, (_, n) => log.append(bytesOf(`record ${n}`), { ack: "written" }));
    const closing = log.close();
    expect(log.close()).toBe(closing);
    await expect(log.append(bytesOf("late"))).rejects.toMatchObject({ code: "CLOSED" });
    await closing;
    expect(await Promise.all(appends)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    await expect(log.append(bytesOf("late"))).rejects.toMatchObject({ code: "CLOSED" });
    await expect(log.read(0)).rejects.toMatchObject({ code: "CLOSED" });
    await expect(log.force()).rejects.toMatchObject({ code: "CLOSED" });
    await log.close();
    await using again = await openLog(dir, small);
    expect(again.logEndOffset).toBe(100);
  });

  it("opens, appends and closes with ordinary settings without a wait for any timer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearTimeout", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const log = await openLog(tempDir());
    await log.append(bytesOf("a"));
    await log.close();
  });
});
