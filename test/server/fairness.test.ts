// One connection, or many, that ask for all there is, from memory and from the disk, beside others that ask for little. Time
// says little on a busy machine, so what is looked at is the work that the loop does for others, and the system calls.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { TURN_BYTES_IN, TURN_BYTES_OUT } from "../../src/model/limits.js";
import { native } from "../../src/native/binding.js";
import { type BrokerProcess, connectTo, spawnReady, testSettings } from "../support/broker.js";
import { withBystander } from "../support/bystander.js";
import { ascii } from "../support/bytes.js";
import { Strace } from "../support/strace.js";
import { tempDir } from "../support/tmp.js";
import { LONG_MS, sleep, timed } from "../support/waiting.js";
import {
  fetch,
  metadata,
  multiFetch,
  produce,
  readFetched,
  readMultiFetched,
  readProduced,
  readStored,
  type Wire,
  waitingFetch,
} from "../support/wire.js";

const KiB = 1024;
const MiB = 1024 * KiB;
const MOST_WORK_MS = 250;

/** Killed, strace would leave the broker running. */
function killWith({ stdout }: BrokerProcess): number {
  const [, pid] = / pid=(\d+) /.exec(stdout) ?? [];
  onTestFinished(() => {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended.
    }
  });
  return Number(pid);
}

/** Asks for everything at once: `rounds` times a batch of half a MiB, a fetch of a MiB, one of eight partitions, METADATA. */
async function askForEverything(wire: Wire, rounds: number): Promise<void> {
  const batch = produce([new Uint8Array(512 * KiB)], { correlation: 1 });
  const positions = Array.from({ length: 8 }, (_, partition) => ({ topic: "many", partition, offset: 0 }));
  const others = [fetch(0, { maxBytes: MiB }), multiFetch(positions, { maxBytes: 4 * MiB }), metadata([], 2)];
  for (let i = 0; i < rounds; i++) wire.send(batch, ...others);
  for (let i = 0; i < rounds; i++) {
    expect(readProduced(await wire.response()).base).toBeGreaterThanOrEqual(0);
    expect(readFetched(await wire.response()).payload.length).toBeGreaterThan(512 * KiB);
    const parts = readMultiFetched(await wire.response());
    expect(parts.map(({ payload }) => payload.length)).toEqual(positions.map(() => 100_008));
    expect((await wire.response()).error).toBe(0);
  }
}

const settings = {
  topics: "orders:1,many:8,bystander:1",
  "max.frame.bytes": "1MiB",
  "segment.bytes": "4MiB",
  "log.level": "warn",
};

async function fill(wire: Wire): Promise<void> {
  for (let i = 0; i < 8; i++) await wire.ask(produce([new Uint8Array(900_000)]));
  for (let partition = 0; partition < 8; partition++) {
    await wire.ask(produce([new Uint8Array(100_000)], { topic: "many", partition }));
  }
}

describe.skipIf(process.platform !== "linux")("a connection that asks for everything", () => {
  it("delays those who ask for little by a bounded work, also when there are eight of it", async () => {
    const broker = await spawnReady({ ...testSettings(tempDir("everything")), ...settings });
    const wires = await Promise.all(Array.from({ length: 8 }, () => connectTo(broker)));
    await fill(wires[0]);
    // Some turns. The most is much more where this process waits for a processor while its answer has come.
    const one = await withBystander(broker, () => askForEverything(wires[0], 150), MOST_WORK_MS);
    expect(one.medianWorkMs).toBeLessThan(10);
    const askAll = () => Promise.all(wires.map((wire) => askForEverything(wire, 30)));
    const eight = await withBystander(broker, askAll, MOST_WORK_MS);
    expect(eight.medianWorkMs).toBeLessThan(20);
  }, 120_000);

  it.skipIf(!Strace.works)(
    "has its bytes in and its bytes out in a turn, and no more, however much there is",
    async () => {
      const dir = tempDir("budgets");
      const strace = new Strace(join(dir, "calls"), ["epoll_wait", "recvfrom", "sendfile"]);
      const broker = await spawnReady({ ...testSettings(join(dir, "data")), ...settings }, { wrapper: strace.wrapper });
      const pid = killWith(broker);
      const wires = await Promise.all([connectTo(broker), connectTo(broker)]);
      await fill(wires[0]);
      await Promise.all(wires.map((wire) => askForEverything(wire, 40)));
      // A turn sends and receives before and after it asks the poller, so what lies between two questions is of two turns.
      const most = { recvfrom: 0, sendfile: 0 };
      const all = { recvfrom: 0, sendfile: 0 };
      const since = new Map<string, number>();
      for (const { thread, name, fd, result } of strace.calls()) {
        if (thread !== pid) continue;
        if (name === "epoll_wait") since.clear();
        if ((name !== "recvfrom" && name !== "sendfile") || result <= 0) continue;
        const bytes = (since.get(name + fd) ?? 0) + result;
        since.set(name + fd, bytes);
        most[name] = Math.max(most[name], bytes);
        all[name] += result;
      }
      expect(all.recvfrom).toBeGreaterThan(40 * MiB);
      expect(all.sendfile).toBeGreaterThan(80 * MiB);
      expect(most.recvfrom).toBeLessThanOrEqual(2 * TURN_BYTES_IN);
      // A slice that a quarter more ends is not cut.
      expect(most.sendfile).toBeLessThanOrEqual(2 * 1.25 * TURN_BYTES_OUT);
    },
    120_000,
  );
});

describe.skipIf(!Strace.works)("readers of what is on the disk only", () => {
  const READERS = 24;
  const SEGMENT = 2 * MiB;
  /** For each 64 KiB that a worker asks for. */
  const SLOW_MS = 15;

  it("share the workers, each in its turn, and keep neither the loop nor those who are in memory", async () => {
    const dir = tempDir("cold-many");
    const all = {
      ...testSettings(join(dir, "data")),
      topics: "orders:1,bystander:1,hot:1",
      "segment.bytes": SEGMENT,
      "max.frame.bytes": "1MiB",
      // Each index is larger than the cache, so every fetch of another segment reads it anew.
      "index.interval.bytes": 64,
      "index.cache.bytes": "64KiB",
      "log.level": "warn",
    };
    const before = await spawnReady(all);
    const writer = await connectTo(before);
    const batch = Array.from({ length: 1_000 }, (_, i) => ascii(`${i}`.padEnd(96)));
    const batches = Math.ceil((READERS + 1) * (SEGMENT / (104 * 1_000)));
    for (let i = 0; i < batches; i++) await writer.ask(produce(batch));
    expect(await before.stop()).toBe(0);
    const partition = join(dir, "data", "orders-0");
    const logs = readdirSync(partition)
      .filter((name) => name.endsWith(".log"))
      .sort();
    expect(logs.length).toBeGreaterThan(READERS);

    const strace = new Strace(join(dir, "calls"), ["pread64"], { name: "pread64", ms: SLOW_MS });
    const broker = await spawnReady(all, { wrapper: strace.wrapper });
    const pid = killWith(broker);
    for (const name of readdirSync(partition).filter((name) => !name.endsWith("lock"))) {
      const file = await native.openFile(join(partition, name), { writable: false });
      await file.dropCache(0);
      file.close();
    }
    const callsBefore = strace.calls().length;
    const [produces, waits] = await Promise.all([connectTo(broker), connectTo(broker)]);
    const readers = await Promise.all(Array.from({ length: READERS }, () => connectTo(broker)));
    const bases = logs.slice(0, READERS).map((name) => Number.parseInt(name, 10));

    const finished = new Set<number>();
    const began = performance.now();
    const reads = readers.map(async (reader, i) => {
      const { payload } = readFetched(await reader.ask(fetch(bases[i] + 7, { maxBytes: SEGMENT - 64 * KiB })));
      const { payloads } = readStored(payload);
      expect(payloads.length).toBeGreaterThan(15_000);
      expect(payloads[0]).toEqual(batch[(bases[i] + 7) % 1_000]);
      finished.add(i);
    });
    // Beside them: a produce that a hot reader waits for.
    let rounds = 0;
    let slowest = 0;
    while (finished.size === 0) {
      const woken = timed(waits.ask(waitingFetch(rounds, { topic: "hot", maxWaitMs: LONG_MS })));
      await sleep(2);
      const produced = await timed(produces.ask(produce([ascii(`${rounds}`)], { topic: "hot" })));
      expect(readProduced(produced.value).base).toBe(rounds);
      const { value, ms } = await woken;
      expect(readStored(readFetched(value).payload).payloads).toEqual([ascii(`${rounds}`)]);
      slowest = Math.max(slowest, produced.ms, ms);
      rounds++;
    }
    const first = performance.now() - began;
    const least = Math.min(...readers.filter((_, i) => !finished.has(i)).map(({ buffered }) => buffered));
    await Promise.all(reads);
    const last = performance.now() - began;
    const calls = strace.calls().slice(callsBefore);
    const threads = new Set(calls.map(({ thread }) => thread));
    // They did read the disk, by a few workers and never on the loop.
    expect(calls.length).toBeGreaterThan(READERS * 12);
    expect(threads.has(pid)).toBe(false);
    expect(threads.size).toBeLessThanOrEqual(8);
    // Each in its turn: served one behind the other, the first would have all when most have nothing.
    expect(least).toBeGreaterThanOrEqual(256 * KiB);
    expect(first).toBeGreaterThan(last / 3);
    expect(rounds).toBeGreaterThan(20);
    expect(slowest).toBeLessThan(first);
  }, 120_000);
});
