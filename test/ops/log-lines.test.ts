// The operator's lines of a whole life: a start with settings, a recovery, rolls, retention, a stop; and none for requests.

import { expect, it } from "vitest";
import type { OperatorLog } from "../../src/broker/options.js";
import { silentLog } from "../../src/ops/log.js";
import { startBroker } from "../../src/ops/start-broker.js";
import { connectTo, spawnReady, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { fetch, produce } from "../support/wire.js";

it("tell of each thing that an operator must know, and of no request", async () => {
  const settings = {
    "data.dir": tempDir("lines"),
    port: 0,
    "ops.port": 0,
    topics: "orders:1",
    "disk.reserve.bytes": 0,
    "segment.bytes": "64KiB",
    "max.frame.bytes": "16KiB",
    "retention.bytes": "128KiB",
    "retention.check.ms": "50ms",
  };
  const first = await spawnReady(settings);
  const wire = await connectTo(first);
  for (let i = 0; i < 300; i++) await wire.ask(produce([ascii(`record ${i}`)]));
  for (let i = 0; i < 300; i++) await wire.ask(fetch(i));
  for (let i = 0; i < 20; i++) await wire.ask(produce([ascii("x")], { topic: "nowhere" }));
  expect(first.lines.map(({ kind }) => kind)).toEqual(["broker.starting", "broker.ready"]);
  const [starting] = first.lines;
  expect(starting.settings).toMatchObject({ "segment.bytes": 65_536, "retention.bytes": 131_072, port: 0 });
  expect(starting.settings).not.toHaveProperty(["frame.timeout.ms"]);

  for (let i = 0; i < 40; i++) await wire.ask(produce([new Uint8Array(8000).fill(97)]));
  const told = (kind: string) => first.lines.filter((line) => line.kind === kind);
  await expect.poll(() => told("segment.removed").length, { timeout: 10_000 }).toBeGreaterThan(0);
  expect(told("segment.rolled")[0]).toMatchObject({ level: "info", reason: "full", baseOffset: expect.any(Number) });
  expect(told("segment.removed")[0]).toMatchObject({ level: "info", reason: "bytes", bytes: expect.any(Number) });
  first.kill("SIGKILL");
  await first.exited;

  const second = await spawnReady(settings);
  const recovered = second.lines.find(({ kind }) => kind === "recovery.finished");
  expect(recovered).toMatchObject({ level: "info", tornBytes: 0, milliseconds: expect.any(Number) });
  expect(recovered?.scannedBytes).toBeGreaterThan(0);
  await second.stop();
  expect(second.lines.slice(-2)).toMatchObject([
    { kind: "broker.stopping", signal: "SIGTERM" },
    { kind: "broker.stopped", clean: true, milliseconds: expect.any(Number) },
  ]);
});

it("tell at the start what somebody wrote and what topics have for themselves, and where that was written", async () => {
  const lines: Record<string, unknown>[] = [];
  const log: OperatorLog = { ...silentLog, info: (fields) => void lines.push(fields as Record<string, unknown>) };
  const topics = { orders: { partitions: 1, visibility: "durable" }, other: { partitions: 1 } } as const;
  const broker = await startBroker({ settings: { ...testSettings(tempDir("own")), topics }, log });
  await broker.stop();
  const starting = lines.find(({ kind }) => kind === "broker.starting");
  expect(starting?.origins).toMatchObject({ "data.dir": "startBroker" });
  expect(Object.keys(starting?.origins ?? {})).toEqual(Object.keys(starting?.settings ?? {}));
  expect(starting?.topicSettings).toEqual([
    { topic: "orders", key: "visibility", value: "durable", origin: "startBroker [topics.orders]" },
  ]);
});
