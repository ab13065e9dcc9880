// A fetch that reads what is not in memory from a disk that takes its time. strace makes it slow: each `pread`, which is what
// worker threads read with, comes a while later.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { native } from "../../../src/native/binding.js";
import { connectTo, spawnReady, testSettings } from "../../support/broker.js";
import { ascii } from "../../support/bytes.js";
import { tempDir } from "../../support/tmp.js";
import { LONG_MS, sleep, timed } from "../../support/waiting.js";
import { fetch, produce, readFetched, readProduced, readStored, waitingFetch } from "../../support/wire.js";

const SLOW_MS = 150;
const strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pread64"];
const works = spawnSync(strace[0], [...strace.slice(1), "true"]).status === 0;

describe.skipIf(!works)("cold data", () => {
  it("F11 a fetch that reads it from the disk delays no produce, no other fetch and no wake-up", async () => {
    const dir = tempDir("cold");
    const broker = await spawnReady(
      {
        ...testSettings(dir),
        topics: "orders:1,clicks:1",
        "segment.bytes": "1MiB",
        "max.frame.bytes": "512KiB",
        "log.level": "warn",
      },
      { wrapper: [...strace, "-e", `inject=pread64:delay_enter=${SLOW_MS * 1000}`] },
    );
    // Killed, strace would leave the broker running.
    const [, pid] = / pid=(\d+) /.exec(broker.stdout) ?? [];
    onTestFinished(() => void process.kill(Number(pid), "SIGKILL"));
    const [cold, writer, waiter, warm] = await Promise.all(Array.from({ length: 4 }, () => connectTo(broker)));
    for (let i = 0; i < 24; i++) await writer.ask(produce([new Uint8Array(200_000).fill(i + 1)], { ack: 2 }));
    await writer.ask(produce([ascii("warm")], { topic: "clicks", ack: 2 }));
    // What was rolled is sealed after a while; then nothing keeps its pages.
    const [first] = readdirSync(join(dir, "orders-0"))
      .filter((name) => name.endsWith(".log"))
      .sort();
    await expect
      .poll(() => readdirSync(join(dir, "orders-0")).includes(first.replace(".log", ".index")), { timeout: 10_000 })
      .toBe(true);
    const file = await native.openFile(join(dir, "orders-0", first), { writable: false });
    await file.dropCache(0);

    let answered = false;
    const answer = timed(cold.ask(fetch(0, { maxBytes: 400_000 }))).then((result) => {
      answered = true;
      return result;
    });
    await sleep(20);
    let rounds = 0;
    let longest = 0;
    while (!answered && rounds < 200) {
      const woken = timed(waiter.ask(waitingFetch(24 + rounds, { maxWaitMs: LONG_MS })));
      const produced = await timed(writer.ask(produce([ascii(`${rounds}`)], { ack: 1 + (rounds % 2) })));
      const other = await timed(warm.ask(fetch(0, { topic: "clicks" })));
      const wake = await woken;
      if (answered) break;
      expect(readProduced(produced.value).base).toBe(24 + rounds);
      expect(readStored(readFetched(other.value).payload).payloads).toEqual([ascii("warm")]);
      expect(readStored(readFetched(wake.value).payload).payloads).toEqual([ascii(`${rounds}`)]);
      longest = Math.max(longest, produced.ms, other.ms, wake.ms);
      rounds++;
    }
    const { value, ms } = await answer;
    expect(readStored(readFetched(value).payload).payloads).toEqual([new Uint8Array(200_000).fill(1)]);
    file.close();
    // It did read the disk, and everybody else went on meanwhile.
    expect(ms).toBeGreaterThanOrEqual(SLOW_MS);
    expect(rounds).toBeGreaterThan(10);
    expect(longest).toBeLessThan(ms);
  }, 120_000);
});
