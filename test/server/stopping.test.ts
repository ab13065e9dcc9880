// A stop: everything that was taken before is answered, what comes later is told, and no client loses its last answer.

import { describe, expect, it } from "vitest";
import { startBroker } from "../../src/ops/start-broker.js";
import { connectTo, runBroker, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import {
  fetch,
  hello,
  metadata,
  produce,
  type Response,
  readFetched,
  readProduced,
  readStored,
} from "../support/wire.js";

const SHUTTING_DOWN = 9;

describe("O04 a broker that stops", () => {
  it("O04 answers and forces what it took, tells SHUTTING_DOWN to what comes later, and loses no answer", async () => {
    const settings = testSettings(tempDir("stop"));
    const broker = await startBroker({ settings });
    const wire = await connectTo(broker);
    const responses: Response[] = [];
    const ended = (async () => {
      try {
        for (;;) responses.push(await wire.response());
      } catch {
        // the end of the connection
      }
    })();
    let sent = 0;
    const send = (): void => wire.send(produce([ascii(`${sent}`)], { ack: 2, correlation: sent++ }));
    for (let i = 0; i < 200; i++) send();
    while (broker.statistics().produceRequests < 200) await new Promise((resolve) => setImmediate(resolve));
    const stopped = broker.stop();
    // The loop is shared with the broker: each round of it brings a request into the middle of the stop.
    let stopping = true;
    void stopped.then(() => {
      stopping = false;
    });
    while (stopping && !wire.isClosed) {
      if (wire.socket.writable) send();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await stopped).toBe(true);
    await ended;
    expect(responses.map(({ correlation }) => correlation)).toEqual(responses.map((_, i) => i));
    expect(responses.length).toBeGreaterThanOrEqual(200);
    const accepted = responses.filter(({ error }) => error === 0);
    const refused = responses.filter(({ error }) => error !== 0);
    expect(accepted.length).toBeGreaterThanOrEqual(200);
    expect(refused.every(({ error }) => error === SHUTTING_DOWN)).toBe(true);

    const again = await runBroker(settings);
    const { payload, highWatermark } = readFetched(await (await connectTo(again)).ask(fetch(0)));
    expect(highWatermark).toBe(accepted.length);
    const stored = readStored(payload).payloads;
    for (const response of accepted)
      expect(stored[readProduced(response).base]).toEqual(ascii(`${response.correlation}`));
  });

  it("O04 answers also what stands behind answers that were put off, when the peer reads on", async () => {
    const broker = await startBroker({
      settings: {
        ...testSettings(tempDir("stop")),
        topics: "orders:500",
        "max.frame.bytes": "64KiB",
        "connection.queued.bytes.max": "64KiB",
      },
    });
    const wire = await connectTo(broker);
    wire.socket.pause();
    const asked = 800;
    for (let i = 0; i < asked; i++) wire.send(metadata(["orders"], 1, i));
    wire.send(produce([ascii("behind")], { ack: 2, correlation: asked }));
    while (broker.statistics().produceRequests === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const stopped = broker.stop();
    await new Promise((resolve) => setTimeout(resolve, 100));
    wire.socket.resume();
    for (let i = 0; i < asked; i++) expect((await wire.response()).correlation).toBe(i);
    expect(readProduced(await wire.response())).toEqual({ base: 0, end: 1 });
    expect(await stopped).toBe(true);
  });

  it("O04 takes no new connection", async () => {
    const broker = await startBroker({ settings: testSettings(tempDir("stop")) });
    const wire = await connectTo(broker);
    await wire.ask(hello());
    await broker.stop();
    await expect(connectTo(broker)).rejects.toThrow("ECONNREFUSED");
    await wire.closed;
  });

  it("ends although a client does not take its answers", async () => {
    const settings = { ...testSettings(tempDir("stop")), "stop.timeout.ms": "4s" };
    const broker = await startBroker({ settings });
    const wire = await connectTo(broker);
    await wire.ask(produce([new Uint8Array(1_000_000)]));
    wire.socket.pause();
    for (let i = 0; i < 200; i++) wire.send(fetch(0, { maxBytes: 1_000_000 }));
    await new Promise((resolve) => setTimeout(resolve, 200));
    const before = performance.now();
    expect(await broker.stop()).toBe(true);
    expect(performance.now() - before).toBeLessThan(4_000);
  });

  it("can be stopped twice, and started again on the same directory in the same process", async () => {
    const settings = testSettings(tempDir("stop"));
    for (let round = 0; round < 3; round++) {
      const broker = await startBroker({ settings });
      const wire = await connectTo(broker);
      expect(readProduced(await wire.ask(produce([ascii("x")]))).base).toBe(round);
      expect(await Promise.all([broker.stop(), broker.stop()])).toEqual([true, true]);
    }
  });
});
