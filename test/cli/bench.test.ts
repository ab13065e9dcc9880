// `millrace bench`: the load is what was asked for, and a pause of the broker shows in everything that was due in it.

import { EventEmitter } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { spawnReady, testSettings } from "../support/broker.js";
import { CliProcess, jsonRows, millrace, type VerbOptions } from "../support/cli.js";
import { FakeBroker, type FakeRequest } from "../support/fake-broker.js";
import { tempDir } from "../support/tmp.js";

interface Told {
  readonly loop: string;
  readonly partitions: number;
  readonly requests: number;
  readonly records: number;
  readonly recordsPerSecond: number;
  readonly failed: Record<string, number>;
  readonly latencyMs: { min: number; mean: number; max: number; percentiles: Record<string, number> };
  readonly machine: Record<string, unknown>;
}

const isProduce = ({ kind }: FakeRequest): boolean => kind === RequestKind.PRODUCE_V1;

async function bench(broker: FakeBroker, args: readonly string[], options: VerbOptions = {}) {
  const result = await millrace(["bench", "--broker", broker.address, "--json", ...args], options);
  return { ...result, told: jsonRows<Told>(result.stdout)[0] as Told };
}

/** Keeps all answers back for a while, once. Says then how many that were. */
function pauseOnce(broker: FakeBroker, atRequest: number, ms: number): { held: number } {
  const paused = { held: 0 };
  let produced = 0;
  let held: (() => void)[] | undefined;
  broker.intercept = (request) => {
    if (!isProduce(request)) return false;
    if (++produced === atRequest) {
      held = [];
      setTimeout(() => {
        for (const answer of held ?? []) answer();
        paused.held = held?.length ?? 0;
        held = undefined;
      }, ms);
    }
    if (held === undefined) return false;
    held.push(() => void request.socket.write(request.answer ?? ""));
    return true;
  };
  return paused;
}

const SHORT = ["--duration", "2s", "--warm-up", "100ms", "--rate", "200", "--batch", "1", "--connections", "2"];

describe("bench", () => {
  it("sends what was asked for, to all partitions, and says what it was", async () => {
    const broker = await FakeBroker.start({ topics: { bench: 3 } });
    const { code, told, stderr } = await bench(broker, [...SHORT, "--batch", "4", "--record-bytes", "10"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(told).toMatchObject({ loop: "open", partitions: 3, requests: 100, records: 400, failed: {} });
    expect(told.recordsPerSecond).toBeGreaterThan(150);
    expect(told.recordsPerSecond).toBeLessThan(215);
    const { min, mean, max, percentiles } = told.latencyMs;
    const ascending = [min, ...Object.values(percentiles), max];
    expect(ascending.length).toBe(8);
    expect([...ascending].sort((a, b) => a - b)).toEqual(ascending);
    expect(mean).toBeLessThan(max);
    expect(told.machine).toMatchObject({ node: process.version });
    // Also what was sent to warm up.
    const counts = [0, 1, 2].map((partition) => broker.log("bench", partition).length);
    expect(counts).toEqual([140, 140, 140]);
    expect(broker.log("bench", 0)[0]).toEqual(Uint8Array.from(Buffer.from("x".repeat(10))));
    expect(broker.connections).toBe(2);
  });

  it("counts a latency from when a request was due: a pause shows in all that was due in it", async () => {
    const broker = await FakeBroker.start({ topics: { bench: 1 } });
    pauseOnce(broker, 100, 600);
    const { told } = await bench(broker, SHORT);
    const { percentiles, max } = told.latencyMs;
    // 120 of 400 requests were due in the pause, and waited for 300 ms on the average.
    expect(told.requests).toBe(400);
    expect(percentiles.p50).toBeLessThan(250);
    expect(percentiles.p90).toBeGreaterThan(250);
    expect(max).toBeGreaterThan(550);
    expect(max).toBeLessThan(2000);
  });

  it("has with --rate max as many requests open as it is told, and a pause is then one slow answer for each", async () => {
    const broker = await FakeBroker.start({ topics: { bench: 1 } });
    const paused = pauseOnce(broker, 100, 600);
    const { code, told } = await bench(broker, [...SHORT, "--warm-up", "0", "--rate", "max", "--in-flight", "3"]);
    expect([code, told.loop]).toEqual([0, "closed"]);
    expect(told.requests).toBeGreaterThan(1000);
    expect(told.latencyMs.percentiles.p90).toBeLessThan(250);
    expect(told.latencyMs.max).toBeGreaterThan(550);
    expect(paused.held).toBe(6);
  });

  it("fails when requests were refused, and when the load piled up, with what was measured", async () => {
    const broker = await FakeBroker.start({ topics: { bench: 1 } });
    let produced = 0;
    broker.refuse = ({ kind }) => (kind === RequestKind.PRODUCE_V1 && ++produced % 10 === 0 ? 7 : undefined);
    const refused = await bench(broker, SHORT);
    const { requests, failed } = refused.told;
    // 400 are due and each tenth is refused; of each connection one may fall to the other side of an end of the measured time.
    expect(refused.code).toBe(1);
    expect(requests).toBeGreaterThanOrEqual(358);
    expect(requests).toBeLessThanOrEqual(362);
    const count = Math.floor(produced / 10);
    expect(Object.values(failed)).toEqual([count]);
    expect(refused.stderr).toMatch(
      new RegExp(`^millrace: ${count} of ${requests + count} requests failed: [A-Z_]+\\n`),
    );

    const slow = await FakeBroker.start({ topics: { bench: 1 } });
    const waiting: (() => void)[] = [];
    const timer = setInterval(() => waiting.shift()?.(), 10);
    slow.intercept = (request) =>
      isProduce(request) && waiting.push(() => void request.socket.write(request.answer ?? "")) > 0;
    const piled = await bench(slow, [...SHORT, "--connections", "1"]);
    clearInterval(timer);
    expect(piled.code).toBe(1);
    expect(piled.stderr).toMatch(/^millrace: \d+ of 200 records\/s were reached\n/);
    expect(piled.told.latencyMs.max).toBeGreaterThan(1500);
  });

  it("asks for a topic of its own, and for requests that fit", async () => {
    const broker = await FakeBroker.start({ topics: { orders: 1 } });
    const none = await millrace(["bench", "--broker", broker.address]);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("has no topic bench")]);
    const large = await millrace(["bench", "--topic", "orders", "--record-bytes", "1MiB", "--broker", broker.address]);
    expect([large.code, large.stderr]).toEqual([2, expect.stringContaining("does not fit a request")]);
    expect(broker.requests.some(isProduce)).toBe(false);
  });

  it("tells on ^C what it measured until then, and when the broker goes away", async () => {
    const broker = await FakeBroker.start({ topics: { bench: 1 } });
    const signals = new EventEmitter();
    const stopped = bench(broker, [...SHORT, "--duration", "1h"], { signals });
    await vi.waitUntil(() => broker.log("bench", 0).length > 100);
    signals.emit("signal", "SIGINT");
    const { code, told, stderr } = await stopped;
    expect(code).toBe(130);
    expect(told.requests).toBeGreaterThan(50);
    expect(stderr).toMatch(/^millrace: stopped by SIGINT\n {2}measured for [\d.]+ s of 3600 s\n$/);

    const warming = bench(broker, [...SHORT, "--warm-up", "10m"], { signals });
    const atStart = broker.log("bench", 0).length;
    await vi.waitUntil(() => broker.log("bench", 0).length > atStart);
    signals.emit("signal", "SIGINT");
    const cold = await warming;
    expect([cold.code, cold.stdout]).toEqual([130, ""]);
    expect(cold.stderr).toMatch(
      /^millrace: stopped by SIGINT\n {2}nothing was measured: \d+ requests? went out, the warm-up among them\n$/,
    );
    const left = bench(broker, [...SHORT, "--duration", "1h"]);
    const before = broker.log("bench", 0).length;
    await vi.waitUntil(() => broker.log("bench", 0).length > before + 100);
    await broker.stop();
    const lost = await left;
    expect([lost.code, lost.told.requests > 50, lost.stderr]).toEqual([1, true, expect.stringContaining("was lost")]);
  });

  it("draws its percentiles, names ack and machine, and leaves in the topic what it says", async () => {
    const broker = await spawnReady({ ...testSettings(tempDir("data")), topics: "bench:2" });
    const at = ["--broker", `127.0.0.1:${broker.port}`];
    const cli = new CliProcess(["bench", "--duration", "1s", "--warm-up", "0", "--rate", "1000/s", ...at]);
    expect((await cli.exited).code).toBe(0);
    const text = cli.stdout.toString();
    expect(text).toMatch(/^target {3}bench, 2 partitions, at 127\.0\.0\.1:\d+; ack forced\n/);
    expect(text).toContain(
      "open loop, 1,000 records/s; 100 bytes a record, 10 a request, 4 connections; 1 s after 0 s",
    );
    expect(text).toMatch(/\nmachine {2}\d+ × .+, [\d.]+ GiB, .+, Node v[\d.]+; the load runs on it\n/);
    for (const name of ["p50", "p75", "p90", "p95", "p99", "p99.9", "max"]) {
      expect(text).toMatch(new RegExp(`\n +${name.replace(".", "\\.")} +[\\d.]+ {2}#+\n`));
    }
    expect(text).not.toContain("\x1b");
    const topics = await millrace(["topics", "bench", "--json", ...at]);
    expect(jsonRows<{ records: number }>(topics.stdout).map(({ records }) => records)).toEqual([500, 500]);
  });
});
