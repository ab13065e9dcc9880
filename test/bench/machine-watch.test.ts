// The state of the machine: read as the kernel writes it, and summed up over a load.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { machineFigures, parseMachine, watchMachine } from "../../bench/lib/machine-watch.js";

const meminfo =
  "MemTotal:  1000 kB\nMemFree:          200 kB\nDirty:            30 kB\nWriteback:         4 kB\nWritebackTmp:  9 kB\n";

describe("the machine's state", () => {
  it("is read from what the kernel writes", () => {
    const pressure = "some avg10=1.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=7\n";
    expect(parseMachine(meminfo, "nr_dirtied 9\nnr_written 3\n", pressure)).toEqual({
      dirtyBytes: 30 * 1024,
      writebackBytes: 4 * 1024,
      freeBytes: 200 * 1024,
      writtenBytes: 3 * 4096,
      ioStallSeconds: 2.5,
    });
  });

  it("is nothing where a kernel says nothing", () => {
    expect(parseMachine("", "", "")).toMatchObject({ dirtyBytes: 0, ioStallSeconds: 0 });
  });

  it("is the extremes of what was seen, and rates over the time between first and last look", () => {
    const look = { dirtyBytes: 0, writebackBytes: 0, freeBytes: 100, writtenBytes: 1000, ioStallSeconds: 1 };
    const looks = [
      look,
      { ...look, dirtyBytes: 50, writebackBytes: 7, freeBytes: 20 },
      { ...look, dirtyBytes: 10, freeBytes: 60, writtenBytes: 5000, ioStallSeconds: 2 },
    ];
    expect(machineFigures(looks, 4)).toEqual({
      dirtyMaxBytes: 50,
      writebackMaxBytes: 7,
      freeMinBytes: 20,
      writtenBytesPerSecond: 1000,
      ioStallShare: 0.25,
    });
  });

  it.skipIf(process.platform !== "linux")("is watched as long as something runs, also when that fails", async () => {
    const { result, machine } = await watchMachine(() => sleep(50, "done"));
    expect(result).toBe("done");
    expect(machine.freeMinBytes).toBeGreaterThan(0);
    await expect(watchMachine(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  });
});
