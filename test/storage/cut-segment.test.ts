// A segment that is cut where no zeros can be written behind its records.

import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { type NativeFile, native } from "../../src/native/binding.js";
import { cutSegment } from "../../src/storage/cut-segment.js";
import { tempDir } from "../support/tmp.js";

/** Cuts 100 bytes to 50 in a file whose every write fails with this. */
async function cut(code: string, syscall: string): Promise<string> {
  const path = join(tempDir(), "0.log");
  writeFileSync(path, new Uint8Array(100).fill(1));
  const { openFile } = native;
  const failing = (file: NativeFile): NativeFile =>
    new Proxy(file, {
      get: (_, name: keyof NativeFile) =>
        name === "write"
          ? () => Promise.reject(Object.assign(new Error(code), { code, syscall }))
          : (file[name] as (() => unknown) | undefined)?.bind(file),
    });
  const spy = vi.spyOn(native, "openFile").mockImplementation(async (...args) => failing(await openFile(...args)));
  try {
    await cutSegment(path, 50, true);
  } finally {
    spy.mockRestore();
  }
  return path;
}

it("goes on where there is no room to write: what is written in place needs none", async () => {
  for (const code of ["ENOSPC", "EDQUOT"]) expect(statSync(await cut(code, "pwrite")).size).toBe(50);
});

it("fails where a barrier does, for want of room as well", async () => {
  for (const code of ["ENOSPC", "EDQUOT", "EIO"]) {
    await expect(cut(code, "fdatasync")).rejects.toMatchObject({ code, syscall: "fdatasync" });
  }
  await expect(cut("EIO", "pwrite")).rejects.toMatchObject({ code: "EIO" });
});
