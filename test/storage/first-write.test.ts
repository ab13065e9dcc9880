// The first write after a start, when what comes before it fails, or when somebody reads meanwhile.

import { readdirSync, readlinkSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { native } from "../../src/native/binding.js";
import { FilePool } from "../../src/storage/file-pool.js";
import { IndexCache } from "../../src/storage/index-cache.js";
import { tempDir } from "../support/tmp.js";
import { MODES, open } from "./support/opened.js";
import { payload, payloads } from "./support/records.js";

it("O06 a disk without room for the first checkpoint is LOG_FULL, and writes go on when there is room again", async () => {
  const opened = await open(tempDir());
  const spy = vi.spyOn(native, "replaceFile");
  spy.mockRejectedValue(Object.assign(new Error("no space left on device"), { code: "ENOSPC" }));
  try {
    await expect(opened.append(payload(0, 100))).rejects.toMatchObject({ code: "LOG_FULL" });
  } finally {
    spy.mockRestore();
  }
  expect(opened.log.poisoned).toBeUndefined();
  expect(await opened.append(payload(0, 100))).toBe(0);
  await opened.close();
});

it("tells the cause when the first checkpoint cannot be written for another reason", async () => {
  const opened = await open(tempDir());
  const spy = vi.spyOn(native, "replaceFile");
  spy.mockRejectedValue(Object.assign(new Error("input/output error"), { code: "EIO" }));
  try {
    await expect(opened.append(payload(0, 100))).rejects.toMatchObject({ code: "STORAGE_FAILURE" });
  } finally {
    spy.mockRestore();
  }
  await opened.close();
});

it.each(MODES)("%s: who reads while it is prepared leaves index and file to the writer", async (mode) => {
  const dirs = [tempDir(), tempDir()];
  const options = { mode, segmentBytes: 65_536, indexIntervalBytes: 64 };
  for (const dir of dirs) {
    const log = await open(dir, options);
    for (let number = 0; number < 20; number++) await log.append(payload(number, 100));
    await log.close();
  }
  const deps = { indexCache: new IndexCache(1), files: new FilePool(1) };
  const [written, other] = await Promise.all(dirs.map((dir) => open(dir, { ...options, deps })));
  const { syncDirectory } = native;
  const spy = vi.spyOn(native, "syncDirectory").mockImplementation(async (path) => {
    expect(await written.readAll()).toEqual(payloads(0, 20, 100));
    await syncDirectory(path);
  });
  try {
    await written.append(payload(20, 100));
    expect(spy).toHaveBeenCalledOnce();
  } finally {
    spy.mockRestore();
  }
  // Its turn in cache and pool, in which only one has room.
  expect(await other.readAll()).toEqual(payloads(0, 20, 100));
  expect(deps.indexCache.size).toBe(1);
  for (let number = 21; number < 40; number++) await written.append(payload(number, 100));
  expect(await written.readAll()).toEqual(payloads(0, 40, 100));
  await written.close();
  await other.close();
});

it.skipIf(process.platform !== "linux")(
  "a directory that cannot be forced keeps no file of the partition open, whether it goes on or rolls",
  async () => {
    for (const segmentBytes of [65_536, 450]) {
      const dir = tempDir();
      const log = await open(dir, { segmentBytes, format: "crc32c" });
      for (let number = 0; number < 4; number++) await log.append(payload(number, 100));
      await log.close();
      const again = await open(dir, { segmentBytes, format: "crc32c" });
      const spy = vi.spyOn(native, "syncDirectory");
      spy.mockRejectedValue(Object.assign(new Error("input/output error"), { code: "EIO" }));
      try {
        await expect(again.append(payload(4, 100))).rejects.toMatchObject({ code: "STORAGE_FAILURE" });
        expect(spy).toHaveBeenCalled();
      } finally {
        spy.mockRestore();
      }
      expect(again.log.poisoned).toBeDefined();
      await again.close();
      expect(openBelow(dir)).toEqual([]);
    }
  },
);

/** Also those that have no name any more. */
function openBelow(dir: string): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(`${dir}/`) ? [path] : [];
    } catch {
      return []; // Closed meanwhile.
    }
  });
}
