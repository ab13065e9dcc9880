// The side port: alive, ready, and deaf to names that are not its own.

import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSidePort } from "../../src/ops/side-port.js";
import { runBroker } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

function ask(port: number | undefined, path: string, host?: string, method = "GET", more = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = host === undefined ? more : { host, ...more };
    const outgoing = request({ host: "127.0.0.1", port, path, method, headers }, (incoming) => {
      let text = "";
      incoming.on("data", (chunk) => {
        text += chunk;
      });
      const isJson = /json/.test(incoming.headers["content-type"] ?? "");
      incoming.on("end", () =>
        resolve({ status: incoming.statusCode ?? 0, body: isJson && text !== "" ? JSON.parse(text) : {} }),
      );
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}

const withSidePort = { "ops.enabled": true, "ops.port": 0 };

describe("the side port", () => {
  it("says that the broker lives and is ready", async () => {
    const { opsPort } = await runBroker(withSidePort);
    expect(await ask(opsPort, "/healthz")).toEqual({ status: 200, body: { live: true } });
    const { status, body } = await ask(opsPort, "/readyz?verbose");
    expect(status).toBe(200);
    expect(body).toMatchObject({ ready: true, reasons: [], refused: [], poisoned: [] });
    expect(body.diskAvailableBytes).toBeGreaterThan(0);
  });

  it("is not ready when the disk is below its reserve, and says so", async () => {
    const { opsPort } = await runBroker({ ...withSidePort, "disk.reserve.bytes": "1024TiB" });
    const { status, body } = await ask(opsPort, "/readyz");
    expect(status).toBe(503);
    expect(body.reasons).toEqual(["the disk is full up to disk.reserve.bytes"]);
    expect(body.diskAvailableBytes).toBe(0);
    expect(body.diskMissingBytes).toBeGreaterThan(2 ** 40);
    expect((await ask(opsPort, "/healthz")).status).toBe(200);
  });

  it("answers under its own address, localhost and the names that are allowed, and under no other", async () => {
    const { opsPort } = await runBroker({
      ...withSidePort,
      "ops.allowed.hosts": "broker.example,other.example:8080,fd00::5",
    });
    const own = [
      `127.0.0.1:${opsPort}`,
      "127.0.0.1",
      "localhost",
      `LOCALHOST:${opsPort}`,
      "broker.example",
      "Other.Example:1",
      "[fd00::5]:4711",
    ];
    for (const host of own) expect([host, (await ask(opsPort, "/healthz", host)).status]).toEqual([host, 200]);
    const foreign = ["evil.example", "127.0.0.2", "0.0.0.0", "localhost.evil.example", "[::1]", "a:b:c", "127.0.0.1:x"];
    for (const host of foreign) expect([host, (await ask(opsPort, "/healthz", host)).status]).toEqual([host, 421]);
  });

  it("answers no script of another origin where the browser says no site", async () => {
    const { opsPort } = await runBroker(withSidePort);
    const status = async (origin: string, more: Record<string, string> = {}) =>
      (await ask(opsPort, "/healthz", `127.0.0.1:${opsPort}`, "GET", { origin, ...more })).status;
    for (const own of [`http://127.0.0.1:${opsPort}`, `https://127.0.0.1:${opsPort}`])
      expect(await status(own)).toBe(200);
    for (const other of ["null", "http://evil.example", "http://127.0.0.1:1", `http://localhost:${opsPort}`])
      expect([other, await status(other)]).toEqual([other, 403]);
    expect(await status("http://evil.example", { "sec-fetch-site": "same-origin" })).toBe(200);
  });

  it("reads only, and knows no other page", async () => {
    const { opsPort } = await runBroker(withSidePort);
    expect((await ask(opsPort, "/healthz", undefined, "POST")).status).toBe(405);
    expect((await ask(opsPort, "/healthz", undefined, "HEAD")).status).toBe(200);
    for (const path of [
      "/nothing",
      "//healthz",
      "/healthz/",
      "/api/nothing",
      "/../package.json",
      "/%2e%2e/package.json",
    ]) {
      expect([path, (await ask(opsPort, path)).status]).toEqual([path, 404]);
    }
  });

  it("lives and is not ready while partitions are being opened, and while the broker stops", async () => {
    let stopping = false;
    const health = { refused: [], poisoned: [], diskFull: false, diskAvailableBytes: 1, diskMissingBytes: 0 };
    let opened: typeof health | undefined;
    const options = { host: "127.0.0.1", port: 0, allowedHosts: [], health: () => opened, stopping: () => stopping };
    const side = await openSidePort(options);
    onTestFinished(() => side.close());
    expect((await ask(side.port, "/healthz")).status).toBe(200);
    expect(await ask(side.port, "/readyz")).toMatchObject({
      status: 503,
      body: { reasons: ["partitions are being opened"] },
    });
    opened = health;
    expect((await ask(side.port, "/readyz")).status).toBe(200);
    stopping = true;
    expect(await ask(side.port, "/readyz")).toMatchObject({
      status: 503,
      body: { reasons: ["the broker is stopping"] },
    });
  });

  it("answers nobody who does not say under which name he asks", async () => {
    const { opsPort } = await runBroker(withSidePort);
    const socket = connect(opsPort ?? 0, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write("GET /healthz HTTP/1.0\r\n\r\n");
    let text = "";
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(/^HTTP\/1\.1 421 /);
  });

  it("is closed with the broker", async () => {
    const broker = await runBroker(withSidePort);
    await broker.stop();
    await expect(ask(broker.opsPort, "/healthz")).rejects.toThrow("ECONNREFUSED");
  });

  it("O08 names the partition that refused to open", async () => {
    const dataDir = tempDir("o08");
    const first = await runBroker({ "data.dir": dataDir, topics: "orders:2" });
    await first.stop();
    writeFileSync(join(dataDir, "orders-1", "partition.json"), "{");
    const { opsPort } = await runBroker({ ...withSidePort, "data.dir": dataDir, topics: "orders:2" });
    const { status, body } = await ask(opsPort, "/readyz");
    expect(status).toBe(503);
    expect(body.refused).toEqual([expect.objectContaining({ partition: "orders-1", dir: join(dataDir, "orders-1") })]);
  });
});
