// Names of files and directories are on the disk before something else counts on what they hold. A cut of power could take a name alone, and
// on the file systems that the ladder cuts the next barrier of whatever file brings it along: so the order is looked at here.

import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { native } from "../../src/native/binding.js";
import { startBroker } from "../../src/ops/start-broker.js";
import { CheckpointFile } from "../../src/storage/checkpoint-file.js";
import { testSettings } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";
import { MODES, open } from "./support/opened.js";
import { payload } from "./support/records.js";

/** What is done while `work` runs, in its order. */
async function stepsOf(work: () => Promise<unknown>): Promise<string[]> {
  const steps: string[] = [];
  const { syncDirectory, unlinkFile, openFile } = native;
  const { write } = CheckpointFile.prototype;
  const spies = [
    vi.spyOn(native, "syncDirectory").mockImplementation((dir) => {
      steps.push(`sync ${dir}`);
      return syncDirectory(dir);
    }),
    vi.spyOn(native, "unlinkFile").mockImplementation((path) => {
      steps.push("unlink");
      return unlinkFile(path);
    }),
    vi.spyOn(native, "openFile").mockImplementation((path, options) => {
      if (options.create === true) steps.push(`create ${path}`);
      return openFile(path, options);
    }),
    vi.spyOn(CheckpointFile.prototype, "write").mockImplementation(function (this: CheckpointFile, checkpoint) {
      steps.push(`begins at ${checkpoint.logStartOffset}`);
      return write.call(this, checkpoint);
    }),
  ];
  try {
    await work();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return steps;
}

it.each(MODES)("%s: of what retention leaves, before the checkpoint says that the log begins there", async (mode) => {
  const opened = await open(tempDir(), { mode, segmentBytes: 1000, retentionBytes: 1 });
  for (let number = 0; number < 12; number++) await opened.append(payload(number, 100));
  await opened.log.force();
  await opened.log.settled();
  const steps = await stepsOf(() => opened.log.applyRetention());
  const { logStartOffset, dir } = opened.log;
  expect(logStartOffset).toBeGreaterThan(0);
  expect(steps.slice(0, 3)).toEqual([`sync ${dir}`, `begins at ${logStartOffset}`, "unlink"]);
  await opened.close();
});

it("of a partition and its first segment, each before anything is in it", async () => {
  const dir = join(tempDir(), "orders-0");
  const steps = await stepsOf(async () => {
    const opened = await open(dir);
    await opened.append(payload(0, 100));
    await opened.close();
  });
  const first = steps.findIndex((step) => step.startsWith(`create ${dir}/0`));
  expect(steps.slice(first, first + 3)).toEqual([
    `create ${join(dir, `${"0".repeat(20)}.log`)}`,
    `sync ${dir}`,
    "begins at 0",
  ]);
});

it("of partitions that are added to a data directory, before they are opened", async () => {
  const dataDir = tempDir();
  const steps = await stepsOf(async () => {
    const broker = await startBroker({ settings: { ...testSettings(dataDir), topics: "orders:2" } });
    await broker.stop();
  });
  const opened = steps.findIndex((step) => step.startsWith(`create ${join(dataDir, "orders-")}`));
  expect(opened).toBeGreaterThan(0);
  expect(steps.slice(0, opened)).toContain(`sync ${dataDir}`);
});
