// `millrace fetch-demo`: the four rounds as they are promised, and every way in which it refuses to claim them.

import { EventEmitter } from "node:events";
import { writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type PlayedLog, playRounds, type Round } from "../../src/cli/fetch-demo/rounds.js";
import { type Log, type LogRead, openLog } from "../../src/log/embedded.js";
import { CliProcess, jsonRows, millrace } from "../support/cli.js";
import { tempDir } from "../support/tmp.js";

const AS_DOCUMENTED = ["--fetch-offset", "7", "--min-records", "2", "--max-wait-ms", "500", "--steps", "4"];
const demo = (dir: string, ...args: string[]) => millrace(["fetch-demo", "--dir", dir, ...args]);

interface Told {
  readonly start: { readonly logEndOffset: number; readonly segments: number[] };
  readonly rounds: Round[];
}

function toldBy(stdout: string): Told {
  const [{ start } = { start: { logEndOffset: -1, segments: [] } }, ...rounds] = jsonRows<Told & Round>(stdout);
  return { start, rounds };
}

describe("fetch-demo", () => {
  it("F02 F03 F04 F05 F06 plays the four rounds on an empty directory", async () => {
    const { code, stdout, stderr } = await demo(tempDir(), ...AS_DOCUMENTED, "--json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { start, rounds } = toldBy(stdout);
    expect(start).toEqual({ logEndOffset: 7, segments: [0, 3, 6] });
    expect(rounds.map(({ what, waitedMs, ...facts }) => facts)).toEqual([
      {
        round: 1,
        fetchOffset: 0,
        minRecords: 4,
        parked: false,
        timedOut: false,
        bytes: 3 * 1308,
        records: 3,
        firstOffset: 0,
        lastOffset: 2,
        logEndOffset: 7,
      },
      {
        round: 2,
        fetchOffset: 7,
        minRecords: 2,
        parked: true,
        timedOut: true,
        bytes: 0,
        records: 0,
        firstOffset: -1,
        lastOffset: -1,
        logEndOffset: 7,
      },
      {
        round: 3,
        fetchOffset: 7,
        minRecords: 2,
        parked: false,
        timedOut: false,
        bytes: 48,
        records: 3,
        firstOffset: 7,
        lastOffset: 9,
        logEndOffset: 10,
      },
      {
        round: 4,
        fetchOffset: 10,
        minRecords: 2,
        parked: true,
        timedOut: false,
        bytes: 34,
        records: 2,
        firstOffset: 10,
        lastOffset: 11,
        logEndOffset: 12,
      },
    ]);
    const [first, second, third, fourth] = rounds.map(({ waitedMs }) => waitedMs) as [number, number, number, number];
    expect(first).toBeLessThan(499);
    expect(second).toBeGreaterThanOrEqual(499);
    expect(third).toBeLessThan(499);
    expect(fourth).toBeGreaterThanOrEqual(124);
    expect(fourth).toBeLessThan(499);
  });

  it("tells a person the same, a line for each round", async () => {
    const { code, stdout } = await demo(tempDir(), "--max-wait-ms", "600");
    expect(code).toBe(0);
    const [start, ...rounds] = stdout.trimEnd().split("\n");
    expect(start).toBe("log end 7, segments at 0, 3, 6");
    expect(rounds.map((line) => line.replace(/, [\d.]+ ms$/, ""))).toEqual([
      "round 1: an older segment never waits: from 0, at least 4 records, parked no, timed out no, 3924 bytes, 3 records, offsets 0 to 2, log end 7",
      "round 2: nobody came: it waits and times out: from 7, at least 2 records, parked yes, timed out yes, 0 bytes, 0 records, offsets none, log end 7",
      "round 3: the producer came first: from 7, at least 2 records, parked no, timed out no, 48 bytes, 3 records, offsets 7 to 9, log end 10",
      "round 4: the producer comes during the wait: from 10, at least 2 records, parked yes, timed out no, 34 bytes, 2 records, offsets 10 to 11, log end 12",
    ]);
  });

  it("plays as many rounds as it is told, and again where the log ends now", async () => {
    const dir = tempDir();
    const first = await demo(dir, "--steps", "1");
    expect(first.stdout.trimEnd().split("\n")).toHaveLength(2);
    for (const end of [7, 12]) {
      const again = toldBy((await demo(dir, "--json", "--max-wait-ms", "600")).stdout);
      expect(again.start.logEndOffset).toBe(end);
      expect(again.rounds[3]).toMatchObject({ parked: true, records: 2, firstOffset: end + 3, logEndOffset: end + 5 });
    }
  });

  it("ends with 130 under ^C, in order: what it saw is told, and the directory is free again", async () => {
    const dir = tempDir();
    const cli = new CliProcess(["fetch-demo", "--dir", dir, "--max-wait-ms", "1h"]);
    await vi.waitUntil(() => cli.stdout.toString().includes("round 1: "), { timeout: 10_000 });
    cli.child.kill("SIGINT");
    expect(await cli.exited).toEqual({ code: 130, signal: null });
    expect(cli.stdout.toString()).toMatch(/^log end 7.*\nround 1: .*\n$/);
    expect(cli.stderr).toBe("millrace: stopped by SIGINT\n  played 1 of 4 rounds\n");
    expect((await demo(dir, "--steps", "1")).code).toBe(0);
    // In this process, where a wait that went on would be seen: the log is closed when it returns.
    const signals = new EventEmitter();
    const running = millrace(["fetch-demo", "--dir", dir, "--max-wait-ms", "1h"], { signals });
    await vi.waitUntil(() => signals.listenerCount("signal") > 0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    signals.emit("signal", "SIGTERM");
    expect((await running).code).toBe(143);
    expect(signals.listenerCount("signal")).toBe(0);
    await (await openLog(dir, { diskReserveBytes: 0 })).close();
  });

  it("fails when the data of round two was already there, with what it saw before", async () => {
    const dir = tempDir();
    await demo(dir, "--max-wait-ms", "50");
    const { code, stdout, stderr } = await demo(dir, ...AS_DOCUMENTED);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^log end 12, segments at 0, 3, 6\nround 1: [^\n]+\n$/);
    expect(stderr).toMatch(/^millrace: round 2: .* already there: the log has records from 7 to 11\n/);
    const json = await demo(dir, ...AS_DOCUMENTED, "--json");
    expect([json.code, toldBy(json.stdout).rounds.length]).toEqual([1, 1]);
    // One record is less than two, so the fetch would wait; but something was there.
    const oneThere = await demo(tempDir(), "--fetch-offset", "6");
    expect([oneThere.code, oneThere.stderr.includes("the log has records from 6 to 6")]).toEqual([1, true]);
  });

  it("fails when the log did not roll", async () => {
    const dir = tempDir();
    const log = await openLog(dir, { diskReserveBytes: 0 });
    for (let n = 0; n < 7; n++) await log.append(Buffer.from(`record ${n}`));
    await log.close();
    const { code, stdout, stderr } = await demo(dir, ...AS_DOCUMENTED);
    expect(code).toBe(1);
    expect(stdout).toBe("log end 7, segments at 0\n");
    expect(stderr).toMatch(/^millrace: round 1: the log did not roll: all of it, 0 to 7, lies in one segment/);
  });

  it("fails when the offset lies beyond the log", async () => {
    const { code, stderr } = await demo(tempDir(), "--fetch-offset", "9");
    expect(code).toBe(1);
    expect(stderr).toMatch("round 2: --fetch-offset 9 lies beyond the log, which ends at 7");
  });

  it("takes as many records as are told, up to the most that it says", async () => {
    const { code, stdout } = await demo(tempDir(), "--min-records", "64");
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/round 4: .* 64 records, offsets 72 to 135, log end 136/),
    ]);
  });

  it("touches no directory that is something else, and no partition that is open", async () => {
    const other = tempDir();
    writeFileSync(join(other, "notes.txt"), "mine");
    const refused = await demo(other);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("is no partition and not empty")]);
    const file = await demo(join(other, "notes.txt"));
    expect([file.code, file.stderr]).toEqual([1, expect.stringContaining("notes.txt is no directory")]);
    const dir = tempDir();
    await mkdir(dir, { recursive: true });
    const log = await openLog(dir, { diskReserveBytes: 0 });
    onTestFinished(() => log.close());
    const inUse = await demo(dir);
    expect([inUse.code, inUse.stderr]).toEqual([1, expect.stringContaining("in use")]);
  });

  it.each([
    [["--steps", "5"], "a whole number from 1 to 4"],
    [["--min-records", "0"], "a whole number from 1 to 64"],
    [["--max-wait-ms", "x"], "a time from"],
    [["--fetch-offset", "-1"], "a whole number from 0"],
  ])("says how it is used when it gets %j", async (args, text) => {
    const { code, stderr } = await demo(tempDir(), ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
  });

  it("needs a directory", async () => {
    expect(await millrace(["fetch-demo"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--dir") });
  });
});

describe("a round that did not happen is not told", () => {
  /** Plays on a real log whose reads tell something else in one round. */
  async function lying(round: number, lie: Partial<LogRead>) {
    const log = await openLog(tempDir(), { segmentBytes: 4096, diskReserveBytes: 0 });
    onTestFinished(() => log.close());
    for (let n = 0; n < 7; n++) await log.append(Buffer.alloc(1300, 1), { ack: "written" });
    let reads = 0;
    const liar: PlayedLog = {
      logStartOffset: log.logStartOffset,
      get logEndOffset() {
        return log.logEndOffset;
      },
      segments: () => log.segments(),
      appendBatch: (...batch: Parameters<Log["appendBatch"]>) => log.appendBatch(...batch),
      read: async (from, options) => ({ ...(await log.read(from, options)), ...(++reads === round ? lie : {}) }),
    };
    const rounds: number[] = [];
    for await (const { round: seen } of playRounds(liar, 4, { fetchOffset: 7, minRecords: 2, maxWaitMs: 60 })) {
      rounds.push(seen);
    }
    return rounds;
  }

  it("and a round that did, is", async () => {
    expect(await lying(0, {})).toEqual([1, 2, 3, 4]);
  });

  it.each([
    [1, { parked: true }, "it waited for a segment that cannot grow"],
    [1, { records: [] }, "it did not bring records of the segment"],
    [2, { parked: false }, "it did not wait for its time to be over"],
    [2, { timedOut: false }, "it did not wait for its time to be over"],
    [2, { bytes: 20 }, "already there"],
    [3, { parked: true }, "it waited for what was there"],
    [3, { records: [] }, "3 records had been written"],
    [4, { parked: false }, "it was not woken by the producer"],
    [4, { timedOut: true }, "it was not woken by the producer"],
    [4, { records: [] }, "2 records had been written"],
  ] as const)("in round %d, when it is %j", async (round, lie, text) => {
    await expect(lying(round, lie)).rejects.toThrow(text);
  });
});
