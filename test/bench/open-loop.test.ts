// Open loop means: requests begin at fixed times, and a server that stalls cannot hide it by slowing the generator down.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildTools } from "../../bench/build.mjs";
import { argumentsOf, type Flags, type LoadResult } from "../../bench/lib/tools.js";
import { FakeServer } from "./fake-server.js";

const run = promisify(execFile);
let binary: string;
let fake: FakeServer | undefined;

const load = async (server: FakeServer, flags: Flags): Promise<LoadResult> => {
  const { stdout } = await run(binary, argumentsOf({ port: server.port, drain: 5, ...flags }));
  return JSON.parse(stdout) as LoadResult;
};

describe.skipIf(process.platform !== "linux")("an open loop", () => {
  beforeAll(async () => {
    ({ loadgen: binary } = await buildTools());
  }, 180_000);

  afterEach(async () => {
    await fake?.stop();
    fake = undefined;
  });

  it("sends the asked number of requests over the asked time, evenly", async () => {
    fake = await FakeServer.start();
    const result = await load(fake, { rate: 500, seconds: 1, connections: 3, depth: 4 });
    expect(result.loop).toBe("open");
    expect(result.scheduled).toBe(500);
    expect(result.requests).toBe(500);
    expect(result.requestsPerSecond).toBeGreaterThan(450);
    expect(result.requestsPerSecond).toBeLessThanOrEqual(501);
    expect(fake.arrivals.at(-1)).toBeGreaterThan(900);
    // Evenly: by half of the time half of them have come. Wide bounds, because other work runs on the machine.
    const byHalf = fake.arrivals.filter((at) => at < 500).length;
    expect(byHalf).toBeGreaterThan(150);
    expect(byHalf).toBeLessThan(260);
  });

  it("counts latency from the time a request should have begun, also for those that a stall kept from being sent", async () => {
    const stall = [300, 700] as const;
    fake = await FakeServer.start({ stall });
    const open = await load(fake, { rate: 1000, seconds: 1, connections: 1, depth: 8 });
    expect(fake.waitingMax).toBe(8);
    expect(open.requests).toBe(1000);
    expect(open.latency.maxUs).toBeGreaterThan(380_000);
    // 400 of 1000 should have begun during the stall; a tenth of all waited longer than 300 ms.
    expect(open.latency.p90Us).toBeGreaterThan(250_000);
    await fake.stop();

    // The same stall seen by a closed loop: it waits with the server and sees 8 slow requests among thousands.
    fake = await FakeServer.start({ stall });
    const closed = await load(fake, { seconds: 1, connections: 1, depth: 8 });
    expect(closed.latency.maxUs).toBeGreaterThan(380_000);
    expect(closed.latency.p90Us).toBeLessThan(100_000);
  });

  it("says how late the generator itself was", async () => {
    fake = await FakeServer.start();
    const result = await load(fake, { rate: 200, seconds: 0.5, connections: 2, depth: 2 });
    expect(result.generatorLag?.count).toBeGreaterThan(0);
    expect(result.generatorLag?.count).toBeLessThanOrEqual(100);
  });
});
