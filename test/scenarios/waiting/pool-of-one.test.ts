// Ten thousand fetches that wait in a broker whose thread pool has one thread.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { native } from "../../../src/native/binding.js";
import { connectTo, spawnReady, testSettings } from "../../support/broker.js";
import { ascii } from "../../support/bytes.js";
import { tempDir } from "../../support/tmp.js";
import { LONG_MS, sleep, timed } from "../../support/waiting.js";
import { hello, produce, readFetched, readProduced, readStored, type Wire, waitingFetch } from "../../support/wire.js";

const FETCHES = 10_000;
/** As many as both processes may open, with a thousand requests on each at the most. */
const CONNECTIONS = Math.max(10, Math.min(FETCHES, native.openFilesLimit() - 500));

const threads = (pid: number): number => {
  const [, count] = /^Threads:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(count);
};

describe.skipIf(process.platform !== "linux")("waiting", () => {
  it("F09 costs no thread and no pool worker: with a pool of one and 10 000 waiting, a FORCED produce completes and wakes them", async () => {
    const broker = await spawnReady(
      { ...testSettings(tempDir("pool")), "connections.max": CONNECTIONS + 10, "log.level": "warn" },
      { environment: { UV_THREADPOOL_SIZE: "1" } },
    );
    const writer = await connectTo(broker);
    await writer.ask(produce([ascii("first")], { ack: 2 }));
    const wires: Wire[] = [];
    while (wires.length < CONNECTIONS) {
      const some = Math.min(100, CONNECTIONS - wires.length);
      wires.push(...(await Promise.all(Array.from({ length: some }, () => connectTo(broker)))));
    }
    const each = (n: number): number => Math.floor((FETCHES + n) / CONNECTIONS);
    // The answer to HELLO shows that everything in front of it has arrived.
    for (const wire of wires) await wire.ask(hello());
    const [threadsBefore, memoryBefore] = [threads(broker.pid), broker.rss()];
    let asked = 0;
    for (const [n, wire] of wires.entries()) {
      for (let i = 0; i < each(n); i++) wire.send(waitingFetch(1, { maxWaitMs: LONG_MS, correlation: asked++ }));
    }
    expect(asked).toBe(FETCHES);
    await sleep(500);
    await writer.ask(hello());
    expect(wires.some((wire) => wire.buffered > 0)).toBe(false);
    expect(threads(broker.pid)).toBe(threadsBefore);
    expect((broker.rss() - memoryBefore) / FETCHES).toBeLessThan(2_000);

    const cpuBefore = broker.loopCpuMs();
    await sleep(1_000);
    // What a broker does once in a second: look through its connections for those that outstay a limit.
    expect(broker.loopCpuMs() - cpuBefore).toBeLessThan(50);

    const { value, ms } = await timed(writer.ask(produce([ascii("news")], { ack: 2 })));
    expect(readProduced(value)).toEqual({ base: 1, end: 2 });
    expect(ms).toBeLessThan(5_000);
    let woken = 0;
    for (const [n, wire] of wires.entries()) {
      for (const response of await wire.responses(each(n))) {
        const { highWatermark, payload } = readFetched(response);
        expect(highWatermark).toBe(2);
        expect(readStored(payload).payloads).toEqual([ascii("news")]);
        expect(response.correlation).toBe(woken++);
      }
    }
    expect(woken).toBe(FETCHES);
  }, 120_000);
});
