// Disks that are full and disks that fail, real ones. Where such a disk cannot be made, the tests are skipped and say why; the
// same rules are then shown on a fake storage only (partition-writer.test.ts).

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Log, openLog } from "../../src/index.js";
import { native } from "../../src/native/binding.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, collect, texts } from "./support/records.js";
import { SmallDisk, whyNot } from "./support/small-disk.js";

const paths = ["MAPPED", "FILE_CHANNEL"] as const;
const reason = whyNot();
if (reason !== undefined) process.stderr.write(`tests on disks that fail are skipped: ${reason}\n`);

const record = (n: number): Uint8Array => bytesOf(`record ${n} `.padEnd(8000, "x"));

/** How many barriers there were when none has come for a while: that a partition failed is noted on the disk, too. */
async function settledBarriers(): Promise<number> {
  for (let before = -1; ; ) {
    const now = native.barrierCount();
    if (now === before) return now;
    before = now;
    await sleep(300);
  }
}

/** Appends until one is refused. Returns how many were accepted and the code of the refusal. */
async function appendUntilRefused(log: Log, from: number): Promise<{ accepted: number; code: string }> {
  for (let n = from; n < 100_000; n++) {
    try {
      await log.append(record(n), { ack: "written" });
    } catch (cause) {
      return { accepted: n, code: (cause as { code: string }).code };
    }
  }
  throw new Error("nothing was refused");
}

describe.skipIf(reason !== undefined).each(paths)("a full disk, %s", (mode) => {
  it("O06 refuses with LOG_FULL, harms nothing that was acknowledged, is read, and goes on when there is room", async () => {
    const disk = new SmallDisk({ megabytes: 48 });
    const options = { mode, segmentBytes: 2 * 1024 * 1024, diskReserveBytes: 0 };
    await using log = await openLog(`${disk.dir}/log`, options);
    for (let n = 0; n < 500; n++) await log.append(record(n), { ack: "written" });
    disk.fill();
    // What was reserved before can still be written; then there is no more.
    const { accepted, code } = await appendUntilRefused(log, 500);
    expect(code).toBe("LOG_FULL");
    // Everybody who waits for the room is told, and the next ones try again.
    const refused = await Promise.allSettled([1, 2, 3].map(() => log.append(record(0))));
    for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: "LOG_FULL" } });
    expect(log.logEndOffset).toBe(accepted);
    expect(await log.force()).toBe(accepted);
    const whole = texts(await collect(log));
    expect(whole.map((text) => text.trimEnd())).toEqual(whole.map((_, n) => new TextDecoder().decode(record(n))));
    disk.makeRoom();
    await expect.poll(() => log.append(record(accepted)).catch(() => -1), { timeout: 5000 }).toBe(accepted);
    expect((await collect(log)).length).toBe(accepted + 1);
  });
});

describe.each(paths)("a disk below what is kept free, %s", (mode) => {
  it("O06 refuses with LOG_FULL before the file system fails", async () => {
    const free = await native.freeBytes(tempDir());
    const options = { mode, segmentBytes: 8 * 1024 * 1024, diskReserveBytes: free + 1024 ** 3 };
    await using log = await openLog(tempDir(), options);
    await expect(log.append(bytesOf("a"))).rejects.toMatchObject({ code: "LOG_FULL" });
    expect(await log.read(0)).toMatchObject({ records: [] });
  });
});

describe.skipIf(reason !== undefined).each(paths)("a barrier that fails, %s", (mode) => {
  it("O07 tells all who wait, ends writing until the log was recovered, and is never just tried again", async () => {
    const disk = new SmallDisk({ megabytes: 64, backedBy: 24 });
    const options = { mode, segmentBytes: 4 * 1024 * 1024, diskReserveBytes: 0 };
    const log = await openLog(`${disk.dir}/log`, options);
    for (let n = 0; n < 50; n++) await log.append(record(n));
    disk.failWrites();
    // Blocks that the device has may still be written; sooner or later a barrier meets one that it has not.
    let acknowledged = 50;
    let refused = 0;
    while (refused === 0) {
      const first = acknowledged;
      const group = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => log.append(record(first + i))));
      const good = group.filter(({ status }) => status === "fulfilled").length;
      refused = group.length - good;
      acknowledged += good;
      // All of a group or none: they waited for the same barrier.
      expect([0, 20]).toContain(good);
      for (const outcome of group.slice(good)) expect(outcome).toMatchObject({ reason: { code: "STORAGE_FAILURE" } });
    }
    expect(log.durableOffset).toBe(acknowledged);
    const barriers = await settledBarriers();
    await expect(log.append(record(0))).rejects.toMatchObject({ code: "STORAGE_FAILURE" });
    await expect(log.append(record(0), { ack: "written" })).rejects.toMatchObject({ code: "STORAGE_FAILURE" });
    await expect(log.force()).rejects.toMatchObject({ code: "STORAGE_FAILURE" });
    expect(native.barrierCount()).toBe(barriers);

    // Reads go on up to what is durable, and no further.
    expect(log.highWatermark).toBe(acknowledged);
    expect((await collect(log)).length).toBe(acknowledged);
    await expect(log.read(acknowledged)).rejects.toMatchObject({ code: "STORAGE_FAILURE" });
    await log.close().catch(() => undefined);

    disk.repair();
    await using again = await openLog(`${disk.dir}/log`, options);
    // What was acknowledged is there; of what was refused, what the disk has.
    expect(again.logEndOffset).toBeGreaterThanOrEqual(acknowledged);
    for (const [n, text] of texts(await collect(again)).entries()) {
      expect(text).toBe(new TextDecoder().decode(record(n)));
    }
    expect(await again.append(record(again.logEndOffset))).toBe(again.logEndOffset - 1);
  });
});
