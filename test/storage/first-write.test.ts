// The first write after a start, when what comes before it fails.

import { expect, it, vi } from "vitest";
import { native } from "../../src/native/binding.js";
import { tempDir } from "../support/tmp.js";
import { open } from "./support/opened.js";
import { payload } from "./support/records.js";

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
