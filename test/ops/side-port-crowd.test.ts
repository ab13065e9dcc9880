// What nobody can do to the side port: fill the memory with pages that are not taken, leave live tails behind, keep a probe out.

import { Agent, get } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { OPS_CONNECTIONS_MAX, TAILS_MAX } from "../../src/model/limits.js";
import { openSidePort } from "../../src/ops/side-port.js";
import type { Route } from "../../src/ops/side-port-routes.js";
import { runBroker } from "../support/broker.js";

const ops = { "ops.enabled": true, "ops.port": 0, topics: "orders:1" };
const asking = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;

function connected(port: number | undefined): { readonly socket: Socket; readonly gone: Promise<void> } {
  const socket = connect(port ?? 0, "127.0.0.1");
  const gone = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
    socket.on("error", () => undefined);
  });
  onTestFinished(() => void socket.destroy());
  return { socket, gone };
}

const sidePort = async (routes: readonly Route[], stallMs?: number) => {
  const health = () => undefined;
  const own = { host: "127.0.0.1", port: 0, allowedHosts: [], health, stopping: () => false };
  const side = await openSidePort({ ...own, routes, stallMs });
  onTestFinished(() => side.close());
  return side;
};

describe("a crowd at the side port", () => {
  it("a connection that asks again before its answer has come is cut, and what was asked behind it is not made", async () => {
    let made = 0;
    const page = async () => {
      made++;
      await sleep(50);
      return { status: 200, type: "text/plain", body: "x".repeat(100_000) };
    };
    const side = await sidePort([{ pattern: "/page", answer: page }]);
    const { socket, gone } = connected(side.port);
    socket.write(asking("/page").repeat(500));
    socket.resume();
    await gone;
    expect(made).toBe(1);
  });

  it("live tails asked for in one packet do not outlive their connection", async () => {
    const broker = await runBroker(ops);
    const { socket, gone } = connected(broker.opsPort);
    socket.write(asking("/api/topics/orders/tail").repeat(TAILS_MAX));
    socket.resume();
    await gone;
    const metrics = async () => (await fetch(`http://127.0.0.1:${broker.opsPort}/metrics`)).text();
    await expect.poll(metrics, { timeout: 5_000 }).toMatch(/^millrace_tails 0$/m);
  });

  it("one question after the other on one connection is what everybody does, and is answered", async () => {
    const broker = await runBroker(ops);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const ports = new Set<number | undefined>();
    const ask = (path: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        get({ host: "127.0.0.1", port: broker.opsPort, path, agent }, (incoming) => {
          ports.add(incoming.socket.localPort);
          incoming.resume().on("end", () => resolve(incoming.statusCode));
        }).on("error", reject);
      });
    const paths = ["/healthz", "/metrics", "/api/topics/orders/partitions/0/records", "/nothing/here", "/api/rates"];
    const asked = Array.from({ length: 100 }, (_, i) => paths[i % paths.length]);
    const statuses = await Promise.all(asked.map(ask));
    expect(new Set(statuses)).toEqual(new Set([200, 404]));
    expect(ports.size).toBe(1);
  });

  it("a peer that takes nothing of its answer is cut", async () => {
    const body = Buffer.alloc(64 * 2 ** 20);
    const side = await sidePort(
      [{ pattern: "/large", answer: () => ({ status: 200, type: "text/plain", body }) }],
      300,
    );
    const { socket, gone } = connected(side.port);
    socket.write(asking("/large"));
    let seen = 0;
    socket.pause();
    await sleep(3_000);
    socket.on("data", (chunk) => {
      seen += chunk.length;
    });
    socket.resume();
    await gone;
    expect(seen).toBeLessThan(body.length);
  });

  it("connections that ask nothing keep a probe out for seconds and not for half a minute", async () => {
    const side = await sidePort([]);
    const idle = Array.from({ length: OPS_CONNECTIONS_MAX }, () => connected(side.port));
    await Promise.all(idle.map(({ socket }) => new Promise((resolve) => socket.once("connect", resolve))));
    const probe = () =>
      fetch(`http://127.0.0.1:${side.port}/healthz`).then(
        ({ status }) => status,
        () => undefined,
      );
    expect(await probe()).toBeUndefined();
    await expect.poll(probe, { timeout: 20_000, interval: 250 }).toBe(200);
  }, 30_000);
});
