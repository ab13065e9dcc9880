// The two ways in which records leave: sendfile, and read and write.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connectTo, runBroker, spawnReady, testSettings } from "../support/broker.js";
import { randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";
import { fetch, produce, readFetched } from "../support/wire.js";

function straceProblem(): string | undefined {
  try {
    execFileSync("strace", ["-e", "trace=none", "true"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "strace is not installed, or may not trace here";
  }
}
const noStrace = straceProblem();

describe("S22 zero copy", () => {
  it("S22 the bytes are the same on both paths and on both write paths", async () => {
    const random = randomFrom(22);
    const payloads = Array.from({ length: 300 }, () =>
      Uint8Array.from({ length: 1 + Math.floor(random() * 900) }, () => Math.floor(random() * 256)),
    );
    const answers: Buffer[] = [];
    for (const mode of ["MAPPED", "FILE_CHANNEL"]) {
      for (const fetchMode of ["ZERO_COPY", "HEAP"]) {
        const settings = { ...testSettings(tempDir("s22")), "segment.mode": mode, "fetch.mode": fetchMode };
        const broker = await spawnReady(settings);
        const wire = await connectTo(broker);
        for (let i = 0; i < payloads.length; i += 10) await wire.ask(produce(payloads.slice(i, i + 10)));
        const all: Uint8Array[] = [];
        for (const [offset, maxBytes] of [
          [0, 1 << 20],
          [0, 1000],
          [17, 65_536],
          [299, 5000],
          [300, 100],
          [150, 1],
        ]) {
          all.push(readFetched(await wire.ask(fetch(offset, { maxBytes }))).payload);
        }
        expect(all[0].length).toBeGreaterThan(100_000);
        answers.push(Buffer.concat(all));
        expect(await broker.stop()).toBe(0);
      }
    }
    for (const answer of answers) expect(answer.equals(answers[0])).toBe(true);
  });

  it("S22 the addon counts what left by sendfile and what through memory", async () => {
    for (const fetchMode of ["ZERO_COPY", "HEAP"] as const) {
      const broker = await runBroker({ "fetch.mode": fetchMode });
      const wire = await connectTo(broker);
      await wire.ask(produce([new Uint8Array(50_000).fill(7)]));
      for (let i = 0; i < 3; i++) await wire.ask(fetch(0));
      const { sendfileBytes, sendfileCalls, heapBytes } = broker.statistics();
      const bytes = 3 * 50_008;
      expect([sendfileBytes, heapBytes]).toEqual(fetchMode === "ZERO_COPY" ? [bytes, 0] : [0, bytes]);
      expect(sendfileCalls > 0).toBe(fetchMode === "ZERO_COPY");
    }
  });

  it.skipIf(noStrace !== undefined)(
    `S22 the zero-copy path calls sendfile, the heap path does not${noStrace === undefined ? "" : ` (skipped: ${noStrace})`}`,
    async () => {
      for (const fetchMode of ["ZERO_COPY", "HEAP"]) {
        const trace = join(tempDir("strace"), "trace");
        const settings = { ...testSettings(tempDir("s22")), "fetch.mode": fetchMode };
        const wrapper = ["strace", "-f", "-qq", "-e", "trace=sendfile,sendfile64", "-o", trace];
        const broker = await spawnReady(settings, { wrapper });
        const wire = await connectTo(broker);
        await wire.ask(produce([new Uint8Array(50_000).fill(7)]));
        const { payload } = readFetched(await wire.ask(fetch(0)));
        expect(payload.length).toBe(50_008);
        // SIGTERM to strace would leave the broker: it is asked by its own pid.
        const [, pid] = / pid=(\d+) /.exec(broker.stdout) ?? [];
        process.kill(Number(pid), "SIGTERM");
        await broker.exited;
        const calls = readFileSync(trace, "utf8")
          .split("\n")
          .filter((line) => /sendfile(64)?\(\d+, \d+, .*\) = 50008/.test(line));
        expect(calls).toHaveLength(fetchMode === "ZERO_COPY" ? 1 : 0);
      }
    },
  );
});
