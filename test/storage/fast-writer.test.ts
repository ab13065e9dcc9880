// A partition that is written fast: blocks are filled ahead of its end and the next segment is prepared early. None of it may be
// seen in what is read, nor stay behind.

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type NativeSegmentWriter, native } from "../../src/native/binding.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, files, logPath, sizeOf } from "./support/crash.js";
import { AnyAmountOfSpace } from "./support/deps.js";
import { type Opened, open, type TestOptions } from "./support/opened.js";

const MiB = 1024 * 1024;
const SEGMENT = 64 * MiB;
const PAYLOAD = MiB / 4;

const payload = (number: number): Buffer => Buffer.alloc(PAYLOAD, 1 + (number % 251));

/** Writes `bytes` at 1 GB/s by the clock that the partition is given. */
async function writeFast(opened: Opened, bytes: number): Promise<void> {
  const from = opened.log.logEndOffset;
  for (let number = 0; number * PAYLOAD < bytes; number++) {
    await opened.append(payload(from + number));
    if (number % 40 === 39) opened.clock.ms += 10;
  }
}

const openFast = (dir: string, options: TestOptions = {}): Promise<Opened> =>
  open(dir, { mode: "MAPPED", segmentBytes: SEGMENT, ...options });

async function eventually(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !condition(); tries++) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(condition()).toBe(true);
}

describe("a partition that is written fast", () => {
  it("has room ahead that no append waited for, and its next segment before half of this one is full", async () => {
    const dir = tempDir();
    const opened = await openFast(dir);
    await writeFast(opened, 30 * MiB);
    await eventually(() => files(dir).includes("next.tmp"));
    await writeFast(opened, 20 * MiB);
    // What is written in 40 ms is more than is left.
    await eventually(() => opened.log.room() === SEGMENT - bytesOfRecords(opened));
    expect(
      bytesOf(logPath(dir, 0))
        .subarray(bytesOfRecords(opened))
        .every((byte) => byte === 0),
    ).toBe(true);
    await opened.close();
    expect(files(dir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    expect(sizeOf(logPath(dir, 0))).toBe(bytesOfRecords(opened));
  });

  it("is read back as it was written, over several segments, with barriers in between", async () => {
    const dir = tempDir();
    const opened = await openFast(dir);
    for (let round = 0; round < 4; round++) {
      await writeFast(opened, 33 * MiB);
      expect(await opened.log.force()).toBe(opened.log.logEndOffset);
    }
    await opened.close();
    const again = await openFast(dir);
    const all = await again.readAll();
    expect(all).toHaveLength(4 * 33 * (MiB / PAYLOAD));
    for (const [offset, read] of all.entries()) expect(Buffer.compare(read, payload(offset))).toBe(0);
    await again.close();
  });

  it.each(["ENOSPC", "EIO"])(
    "goes on where filling ahead fails with %s, says so, and is not poisoned",
    async (code) => {
      const refusing = (writer: NativeSegmentWriter): NativeSegmentWriter => {
        const reserve = writer.reserve.bind(writer);
        const value = (upTo: number, filled?: boolean): Promise<number> =>
          filled ? Promise.reject(Object.assign(new Error(code), { code })) : reserve(upTo);
        return Object.defineProperty(writer, "reserve", { value });
      };
      const { createSegmentWriter, openSegmentWriter } = native;
      const create = vi.spyOn(native, "createSegmentWriter");
      create.mockImplementation(async (options) => refusing(await createSegmentWriter(options)));
      const open = vi.spyOn(native, "openSegmentWriter");
      open.mockImplementation(async (options) => refusing(await openSegmentWriter(options)));
      onTestFinished(() => void [create, open].map((spy) => spy.mockRestore()));

      const opened = await openFast(tempDir());
      await writeFast(opened, 80 * MiB);
      expect(opened.log.poisoned).toBeUndefined();
      expect(await opened.log.force()).toBe(opened.log.logEndOffset);
      const failures = opened.events.filter(({ kind }) => kind === "segment.prepare-failed");
      expect(failures.length).toBeGreaterThan(0);
      for (const failure of failures)
        expect(failure).not.toHaveProperty("cause.message", expect.stringContaining("batch"));
      const all = await opened.readAll();
      expect(all).toHaveLength(80 * (MiB / PAYLOAD));
      for (const [offset, read] of all.entries()) expect(Buffer.compare(read, payload(offset))).toBe(0);
      await opened.close();
    },
  );

  it("goes on to the last byte that there is room for, and closes", async () => {
    const space = new AnyAmountOfSpace();
    const opened = await openFast(tempDir(), { deps: { space } });
    await writeFast(opened, 24 * MiB);
    await opened.log.upkeep();
    space.left = 0;
    await expect(writeFast(opened, 2 * SEGMENT)).rejects.toMatchObject({ code: "LOG_FULL" });
    expect(opened.log.poisoned).toBeUndefined();
    await opened.close();
    expect(space.underWay).toBe(0);
  });
});

const bytesOfRecords = (opened: Opened): number => opened.log.logEndOffset * (PAYLOAD + 8);
