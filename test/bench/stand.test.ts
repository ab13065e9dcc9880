// What the bench says about the machine, and the places where it refuses to measure.

import { existsSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { cpuOf, machineCpu, parseMachineStat, parseProcessStat } from "../../bench/lib/cpu.js";
import { environment, mountOf, refuseMemory, schedulingOf, UnfitStand } from "../../bench/lib/environment.js";
import { argumentsOf, commandLine } from "../../bench/lib/tools.js";
import { tempDir } from "../support/tmp.js";

describe("the stand", () => {
  it.skipIf(!existsSync("/dev/shm"))("refuses a directory in memory", async () => {
    await expect(refuseMemory("/dev/shm")).rejects.toThrow(UnfitStand);
  });

  it("finds the mount that really holds a directory", () => {
    const mounts = ["/dev/a / ext4 rw 0 0", "/dev/b /data xfs rw,noatime 0 0", "tmp /data/tmp tmpfs rw 0 0"].join("\n");
    expect(mountOf(mounts, "/data/log")).toEqual({ type: "xfs", options: "rw,noatime" });
    expect(mountOf(mounts, "/data/tmp")).toEqual({ type: "tmpfs", options: "rw" });
    expect(mountOf(mounts, "/database")).toEqual({ type: "ext4", options: "rw" });
  });

  it("finds a mount whose name holds blanks, tabs and backslashes, which the kernel writes in octal", () => {
    const mounts = "/dev/a / ext4 rw 0 0\n/dev/b /my\\040data\\011x\\134y xfs rw 0 0";
    expect(mountOf(mounts, "/my data\tx\\y/log").type).toBe("xfs");
  });

  it.skipIf(!existsSync("/proc/self/mounts"))("names the file system of where a link leads", async () => {
    const link = join(tempDir(), "link");
    await symlink("/proc", link);
    expect((await environment(link, process.cwd())).fileSystem).toBe("proc");
    expect((await environment(relative(process.cwd(), link), process.cwd())).fileSystem).toBe("proc");
  });

  it("reads processor time of a process whose name holds blanks and brackets", () => {
    const text = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 250 125 0 0 20";
    expect(parseProcessStat(text)).toEqual({ user: 2.5, system: 1.25 });
  });

  it("reads the machine's processor time without what was idle", () => {
    expect(parseMachineStat("cpu  100 200 300 9999 9999 10 20 400 0 0\ncpu0 …")).toEqual({ busy: 6.3, stolen: 4 });
  });

  it("says when what is measured pushes other programs aside", () => {
    const stat = (nice: number, policy: number): string =>
      `7 (a b) S ${Array(15).fill(0).join(" ")} ${nice} ${Array(21).fill(0).join(" ")} ${policy} 0`;
    expect(schedulingOf(stat(0, 0))).toBe("normal");
    expect(schedulingOf(stat(-5, 0))).toBe("normal, nice -5");
    expect(schedulingOf(stat(0, 1))).toBe("real-time (SCHED_FIFO)");
  });

  it.skipIf(process.platform !== "linux")("counts the processor time that this process spends", async () => {
    const [before, machineBefore] = [await cpuOf(process.pid), await machineCpu()];
    const until = performance.now() + 300;
    let spun = 0;
    while (performance.now() < until) spun++;
    const [after, machineAfter] = [await cpuOf(process.pid), await machineCpu()];
    expect(spun).toBeGreaterThan(0);
    expect(after.user + after.system - before.user - before.system).toBeGreaterThan(0.05);
    expect(machineAfter.busy - machineBefore.busy).toBeGreaterThan(0.05);
  });

  it.skipIf(process.platform !== "linux")("knows the facts of the machine", async () => {
    const facts = await environment(tempDir(), process.cwd());
    expect(facts.cores).toBeGreaterThan(0);
    for (const fact of [facts.kernel, facts.fileSystem, facts.node, facts.compiler]) expect(fact).not.toBe("");
  });

  it("writes command lines as a person would, without this run's ports and directories", () => {
    const flags = { port: 1, dir: "x", api: "fetch", discard: true, spin: false, rate: undefined, depth: 2 };
    expect(argumentsOf({ discard: true, spin: false, depth: 2 })).toEqual(["--discard", "--depth", "2"]);
    expect(commandLine("loadgen", flags)).toBe("loadgen --api fetch --discard --depth 2");
  });
});
