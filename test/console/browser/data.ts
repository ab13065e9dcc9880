// A broker with all that a console must be able to show: many segments, JSON, binary payloads, long names, nothing at all.

import { onTestFinished } from "vitest";
import type { RunningBroker } from "../../../src/ops/start-broker.js";
import { connectTo, runBroker } from "../../support/broker.js";
import { ascii } from "../../support/bytes.js";
import { fetch, type Produce, produce, type Wire, waitingFetch } from "../../support/wire.js";

export const LONG_NAME = "warehouse.eu-central.inventory-adjustments.recounted-by-hand.after-the-move.v2";

export const TOPICS = `orders:3,clicks:2,readings:1,empty:1,${LONG_NAME}:1`;

export interface Stocked {
  readonly broker: RunningBroker & { readonly opsPort: number };
  readonly wire: Wire;
}

const order = (id: number): Uint8Array =>
  ascii(
    JSON.stringify({
      id,
      customer: `c-${(id * 7919) % 1000}`,
      total: ((id * 37) % 5000) / 100,
      currency: "EUR",
      lines: [{ sku: `A-${id % 90}`, pieces: (id % 4) + 1 }],
      note: id % 10 === 0 ? "leave it with the neighbours" : null,
    }),
  );

/** Payloads that a console could stumble over. */
const READINGS: readonly Uint8Array[] = [
  ascii("GET /index.html 200"),
  new TextEncoder().encode("größer als 3 € — naïve ☕"),
  Uint8Array.from({ length: 300 }, (_, i) => (i * 7) & 0xff),
  ascii('{"big":12345678901234567890,"twice":1,"twice":2}'),
  ascii("x".repeat(20_000)),
];

export async function put(wire: Wire, records: readonly Uint8Array[], options: Produce): Promise<void> {
  const { error } = await wire.ask(produce(records, options));
  if (error !== 0) throw new Error(`the broker refused with ${error}`);
}

/** Settings beside those of every test. */
export async function stocked(settings: Record<string, unknown> = {}): Promise<Stocked> {
  const broker = await runBroker({
    "ops.enabled": true,
    "ops.port": 0,
    topics: TOPICS,
    "segment.bytes": "128KiB",
    "max.frame.bytes": "64KiB",
    "fetch.max.bytes": "1MiB",
    ...settings,
  });
  const wire = await connectTo(broker);
  for (let first = 0; first < 4000; first += 200) {
    const batch = Array.from({ length: 200 }, (_, i) => order(first + i));
    await put(wire, batch, { topic: "orders", ack: first % 400 === 0 ? 2 : 1 });
  }
  await put(wire, [1, 2, 3].map(order), { topic: "orders", partition: 1, ack: 2 });
  await put(wire, READINGS, { topic: "readings", ack: 2 });
  await put(wire, [ascii("a name that is long")], { topic: LONG_NAME, ack: 2 });
  return { broker: broker as Stocked["broker"], wire };
}

/** Produces, fetches and waits all the time until the test ends: some hundred records in a second. */
export async function keepBusy({ broker, wire }: Stocked, everyMs = 20): Promise<void> {
  const waiting = await connectTo(broker);
  let id = 4000;
  let stopped = false;
  const next = async (): Promise<void> => {
    while (!stopped) {
      const batch = Array.from({ length: 1 + (id % 7) }, (_, i) => order(id + i));
      id += batch.length;
      await put(wire, batch, { topic: id % 3 === 0 ? "clicks" : "orders", ack: 1 + (id % 2) });
      if (id % 2 === 0) await wire.ask(fetch(id % 4000, { maxBytes: 16 * 1024 }));
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  };
  const wait = async (): Promise<void> => {
    while (!stopped) await waiting.ask(waitingFetch(0, { topic: "empty", maxWaitMs: 500, minBytes: 1 }));
  };
  const done = Promise.all([next(), wait()]).catch(() => undefined);
  onTestFinished(async () => {
    stopped = true;
    await done;
  });
}
