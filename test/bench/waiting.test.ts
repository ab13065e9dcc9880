// The tools that wait are held against servers that are known: all fetches are answered by one record, none before.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { buildTools } from "../../bench/build.mjs";
import { LoopWatch } from "../../bench/lib/loop-watch.js";
import { ServerProcess } from "../../bench/lib/server-process.js";
import type { Stand } from "../../bench/lib/stand.js";
import { Tools } from "../../bench/lib/tools.js";
import { Waiters } from "../../bench/lib/waiters.js";
import { runBroker } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";

const setup = { connections: 40, fetches: 100, size: 128 };

describe.skipIf(process.platform !== "linux")("the waiting tools", () => {
  let stand: Stand;

  beforeAll(async () => {
    const tools = new Tools(await buildTools());
    stand = { tools, directory: "", root: process.cwd(), quick: true, rounds: 1, progress: () => undefined };
  }, 180_000);

  async function playWith(port: number): Promise<void> {
    const waiters = await Waiters.open(stand, port, "orders", setup);
    for (let round = 0; round < 3; round++) {
      await waiters.ask();
      await new Promise((resolve) => setTimeout(resolve, 100));
      await waiters.checkQuiet();
      const { answers, latency, seconds } = await waiters.publish();
      expect(answers).toBe(setup.fetches);
      expect(latency.count).toBe(setup.fetches);
      expect(latency.minUs).toBeLessThanOrEqual(latency.p50Us);
      expect(latency.maxUs / 1e6).toBeLessThanOrEqual(seconds);
    }
    await waiters.close();
  }

  it("wait at a broker, several fetches on a connection", async () => {
    await playWith((await runBroker()).port);
  });

  it("wait at the floor", async () => {
    const dir = join(tempDir("floor"), "log");
    mkdirSync(dir);
    const floor = await ServerProcess.start(stand.tools.paths.floor, ["serve", "--dir", dir, "--size", "128"]);
    onTestFinished(() => floor.kill());
    await playWith(floor.port);
  });

  it("see a fetch that was answered too early", async () => {
    const { port } = await runBroker();
    const waiters = await Waiters.open(stand, port, "orders", setup);
    await waiters.ask();
    await stand.tools.load({ port, topic: "orders", size: 128, requests: 1 });
    await expect(waiters.checkQuiet()).rejects.toThrow("the waiters have ended");
    await waiters.close();
  });

  it("ask as often as they wait long", async () => {
    const { port } = await runBroker();
    const { requests, emptyAnswers, seconds } = await stand.tools.idle({
      port,
      topic: "orders",
      api: "fetch",
      "max-wait": 100,
      requests: 5,
    });
    expect([requests, emptyAnswers]).toEqual([5, 5]);
    expect(seconds).toBeGreaterThan(0.49);
  });
});

describe.skipIf(process.platform !== "linux")("the watch of a loop", () => {
  const passes = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  // Again where somebody else had the processor in the middle, which looks like either.
  it("tells a loop that ran from one that was blocked", { retry: 3 }, async () => {
    const watch = new LoopWatch();
    onTestFinished(() => watch.stop());
    await passes(20);
    watch.look();
    const until = performance.now() + 60;
    let spun = 0;
    while (performance.now() < until) spun++;
    await passes(20);
    const ran = watch.look();
    expect(spun).toBeGreaterThan(0);
    expect(ran.longestMs).toBeGreaterThan(55);
    expect(ran.longestRunMs + ran.longestQueuedMs).toBeGreaterThan(55);

    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
    await passes(20);
    const blocked = watch.look();
    expect(blocked.longestBlockedMs).toBeGreaterThan(50);
    expect(blocked.longestRunMs).toBeLessThan(40);
  });
});
