// How a connection lives and ends: probed while it is silent, closed though a broker never answers.

import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../src/client/connection.js";
import { recordRegion } from "../../src/client/record-region.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { FakeBroker } from "../support/fake-broker.js";

const code = (expected: string) => expect.objectContaining({ code: expected });

/** The kernel's timer of a connection to this port: which it is, and when it comes. */
function kernelTimer(port: number): { readonly kind: number; readonly seconds: number } | undefined {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const row = readFileSync("/proc/self/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .find(([, , to, state]) => to?.endsWith(remote) && state === "01");
  const [kind, when] = row?.[5]?.split(":") ?? [];
  return kind === undefined
    ? undefined
    : { kind: Number.parseInt(kind, 16), seconds: Number.parseInt(when ?? "", 16) / 100 };
}

describe("a connection", () => {
  it.runIf(process.platform === "linux")(
    "is probed by the kernel after half a minute of silence, not after two hours",
    async () => {
      const broker = await FakeBroker.start();
      const connection = await Connection.connect({ broker: broker.address });
      onTestFinished(() => connection.destroy());
      await connection.metadata();
      // 2: the keep-alive timer.
      await expect.poll(() => kernelTimer(broker.port)?.kind).toBe(2);
      expect(kernelTimer(broker.port)?.seconds).toBeLessThanOrEqual(30);
    },
  );

  it("tells all who wait for the kernel to take what was sent, when it does and when it never will", async () => {
    const broker = await FakeBroker.start();
    const connection = await Connection.connect({ broker: broker.address });
    const large = recordRegion([new Uint8Array(7 * 1024 * 1024)]);
    const clog = async (): Promise<void> => {
      for (const socket of broker.sockets) socket.pause();
      while (connection.queuedBytes === 0) {
        connection.post("orders", 0, large);
        void connection.flushed();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await clog();
    let told = 0;
    const waitThrice = () => Promise.all([1, 2, 3].map(() => connection.flushed().then(() => told++)));
    const drained = waitThrice();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(told).toBe(0);
    for (const socket of broker.sockets) socket.resume();
    await drained;
    await clog();
    const never = waitThrice();
    connection.destroy();
    await never;
    await connection.flushed();
    expect(told).toBe(6);
  });

  it("closes though a broker never answers, when every request has had its time", async () => {
    const broker = await FakeBroker.start();
    const connection = await Connection.connect({ broker: broker.address });
    broker.intercept = ({ kind }) => kind === RequestKind.PRODUCE_V1;
    const late = connection.produce("orders", 0, recordRegion(["a"]), { timeoutMs: 30 });
    const closed = connection.close();
    await expect(late).rejects.toThrow(code("REQUEST_TIMEOUT"));
    await closed;
    expect(await connection.closed).toBeUndefined();
  });

  it("closes without the answer of a fetch that was given up", async () => {
    const broker = await FakeBroker.start();
    const connection = await Connection.connect({ broker: broker.address });
    const stop = new AbortController();
    const fetch = connection.fetch("orders", 0, 0, 100, { maxWaitMs: 60_000, signal: stop.signal });
    const other = connection.fetch("orders", 0, 0, 100, { maxWaitMs: 60_000, signal: stop.signal });
    const closed = connection.close();
    stop.abort(new Error("enough"));
    await expect(fetch).rejects.toThrow("enough");
    await expect(other).rejects.toThrow("enough");
    const begun = performance.now();
    await closed;
    expect(performance.now() - begun).toBeLessThan(5000);
  });
});
