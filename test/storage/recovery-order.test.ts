// In which order a recovery makes things true and says so.

import { expect, it, vi } from "vitest";
import { native } from "../../src/native/binding.js";
import { CheckpointFile } from "../../src/storage/checkpoint-file.js";
import { tempDir } from "../support/tmp.js";
import { crashCopy } from "./support/crash.js";
import { MODES, open } from "./support/opened.js";
import { payload } from "./support/records.js";

it.each(MODES)(
  "%s: names of segments are on the disk before the checkpoint says that what they hold is",
  async (mode) => {
    const opened = await open(tempDir(), { mode, segmentBytes: 1000 });
    await opened.append(payload(0, 100));
    await opened.log.force();
    // Rolled, and nobody forced the directory since.
    for (let number = 1; number < 12; number++) await opened.append(payload(number, 100));
    const killed = crashCopy(opened.log.dir);
    await opened.close();
    const steps: string[] = [];
    const syncDirectory = vi.spyOn(native, "syncDirectory");
    const write = vi.spyOn(CheckpointFile.prototype, "write");
    syncDirectory.mockImplementation((dir) => {
      if (dir === killed) steps.push("directory");
      return Promise.resolve();
    });
    write.mockImplementation(({ durableOffset }) => {
      steps.push(`checkpoint ${durableOffset}`);
      return Promise.resolve();
    });
    try {
      const again = await open(killed, { mode, segmentBytes: 1000 });
      await again.close();
    } finally {
      syncDirectory.mockRestore();
      write.mockRestore();
    }
    expect(steps.slice(0, 2)).toEqual(["directory", "checkpoint 12"]);
  },
);
