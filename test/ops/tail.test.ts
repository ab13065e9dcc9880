// Live tails: a record shows within a second, a flood is sampled and says so, a reader that takes nothing is dropped, and
// there are never too many.

import { closeSync, openSync, readdirSync, writeSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { TAIL_RECORDS_MAX, TAILS_MAX } from "../../src/model/limits.js";
import type { TailBegin, TailEvent } from "../../src/ops/api/types.js";
import { connectTo, runBroker } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { produce } from "../support/wire.js";

const ops = { "ops.enabled": true, "ops.port": 0 };

interface Event {
  readonly name: string;
  readonly data: TailBegin & TailEvent;
}

/** An EventSource as far as it is needed here. */
async function openTail(port: number | undefined, path: string) {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const answer = await fetch(`http://127.0.0.1:${port}/api/topics/${path}`, { signal: abort.signal });
  if (answer.body === null) throw new Error("no body");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const next = async (): Promise<Event> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const [, name = "", data = ""] = /event: (\w+)\ndata: (.*)$/.exec(text.slice(0, end)) ?? [];
        text = text.slice(end + 2);
        if (name !== "") return { name, data: JSON.parse(data) };
        continue;
      }
      const { done, value } = await reader.read();
      if (done) throw new Error("the stream ended");
      text += value;
    }
  };
  return { status: answer.status, headers: answer.headers, next, close: () => abort.abort() };
}

describe("a live tail", () => {
  it("shows what comes within a second, and nothing that was there before", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:3" });
    const wire = await connectTo(broker);
    await wire.ask(produce([ascii("old")]));
    const tail = await openTail(broker.opsPort, "orders/tail");
    expect(tail.headers.get("content-type")).toBe("text/event-stream");
    expect(tail.headers.get("x-content-type-options")).toBe("nosniff");
    const begin = await tail.next();
    const partitions = [1, 0, 0].map((offset, partition) => ({ partition, offset }));
    expect(begin).toEqual({ name: "begin", data: { topic: "orders", partitions } });
    const since = performance.now();
    await wire.ask(produce([ascii("new")], { partition: 2 }));
    const { name, data } = await tail.next();
    expect(performance.now() - since).toBeLessThan(1000);
    const payload = Buffer.from("new").toString("base64");
    expect([name, data]).toEqual([
      "records",
      {
        records: [{ partition: 2, offset: 0, bytes: 3, payload, cut: false, checked: true }],
        sampled: false,
        leftOut: 0,
        damaged: null,
      },
    ]);
  });

  it("says that a record is damaged, with what is left out for it, and goes on behind that", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:1" });
    const wire = await connectTo(broker);
    await wire.ask(produce(["aaaa", "bbbb", "cccc"].map(ascii)));
    const dir = join(broker.dataDir, "orders-0");
    const [log = ""] = readdirSync(dir).filter((name) => name.endsWith(".log"));
    const file = openSync(join(dir, log), "r+");
    writeSync(file, "X", 8 + 4 + 8);
    closeSync(file);
    const tail = await openTail(broker.opsPort, "orders/tail?last=3");
    await tail.next();
    const { data } = await tail.next();
    expect([data.records.map(({ offset }) => offset), data.leftOut]).toEqual([[0], 2]);
    expect(data.damaged).toMatch(/^the record at offset 1 is damaged/);
    await wire.ask(produce([ascii("dddd")]));
    const { data: after } = await tail.next();
    expect([after.records.map(({ offset }) => offset), after.damaged]).toEqual([[3], null]);
  });

  it("shows the newest of records that are too large for all of them to be read", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:1" });
    const wire = await connectTo(broker);
    const tail = await openTail(broker.opsPort, "orders/tail?payload=0");
    await tail.next();
    await wire.ask(produce(Array.from({ length: 40 }, () => new Uint8Array(10_000).fill(97))));
    const { data } = await tail.next();
    expect(data.records.map(({ offset }) => offset)).toEqual([34, 35, 36, 37, 38, 39]);
    expect([data.leftOut, data.sampled]).toEqual([34, true]);
  });

  it("leaves nothing out where one segment ends and the next begins", async () => {
    const small = { "segment.bytes": "4KiB", "max.frame.bytes": "1KiB", "index.interval.bytes": "1KiB" };
    const broker = await runBroker({ ...ops, ...small, topics: "orders:1" });
    const wire = await connectTo(broker);
    // 208 bytes each as stored: nineteen to a segment.
    for (let i = 0; i < 20; i++) await wire.ask(produce([new Uint8Array(200).fill(97)]));
    const tail = await openTail(broker.opsPort, "orders/tail?last=2");
    await tail.next();
    const { data } = await tail.next();
    expect([data.records.map(({ offset }) => offset), data.leftOut]).toEqual([[18, 19], 0]);
  });

  it("begins with the last ones where it is asked to, of the partitions that it is asked for", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:3" });
    const wire = await connectTo(broker);
    for (const partition of [0, 1]) await wire.ask(produce(["a", "b", "c"].map(ascii), { partition }));
    const tail = await openTail(broker.opsPort, "orders/tail?partition=1,1&last=2&payload=0");
    await tail.next();
    const { data } = await tail.next();
    expect(data.records.map(({ partition, offset, cut }) => [partition, offset, cut])).toEqual([
      [1, 1, true],
      [1, 2, true],
    ]);
  });

  it("samples a flood: the newest of each moment, every record either shown or counted", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:2" });
    const wire = await connectTo(broker);
    const tail = await openTail(broker.opsPort, "orders/tail");
    await tail.next();
    const batch = Array.from({ length: 500 }, (_, i) => ascii(`record ${i}`));
    const total = 200 * 500;
    let sent = false;
    const flood = (async () => {
      for (let i = 0; i < 100; i++) {
        wire.send(produce(batch, { partition: 0 }), produce(batch, { partition: 1 }));
        await wire.responses(2);
      }
      sent = true;
    })();
    let seen = 0;
    let sampled = 0;
    const next = [0, 0];
    while (seen < total) {
      const { data } = await tail.next();
      expect(data.records.length).toBeLessThanOrEqual(TAIL_RECORDS_MAX);
      expect(data.sampled).toBe(data.leftOut > 0);
      if (data.sampled) sampled++;
      for (const { partition, offset } of data.records) {
        expect(offset).toBeGreaterThanOrEqual(next[partition]);
        next[partition] = offset + 1;
      }
      seen += data.records.length + data.leftOut;
    }
    await flood;
    expect([sent, seen, next]).toEqual([true, total, [total / 2, total / 2]]);
    expect(sampled).toBeGreaterThan(0);
  });

  it("is refused beyond the bound, and there is room again when one goes away", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:1,many:65" });
    const tails = await Promise.all(Array.from({ length: TAILS_MAX }, () => openTail(broker.opsPort, "orders/tail")));
    const refused = await fetch(`http://127.0.0.1:${broker.opsPort}/api/topics/orders/tail`);
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: "OVERLOADED" }]);
    tails[0].close();
    await expect.poll(async () => (await openTail(broker.opsPort, "orders/tail")).status, { timeout: 5000 }).toBe(200);
    const wide = await fetch(`http://127.0.0.1:${broker.opsPort}/api/topics/many/tail`);
    expect([wide.status, await wide.json()]).toMatchObject([400, { code: "BAD_REQUEST" }]);
  });

  it("is dropped when its reader takes nothing, and not queued for", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:16" });
    const wire = await connectTo(broker);
    const socket = connect(broker.opsPort ?? 0, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.pause();
    socket.write("GET /api/topics/orders/tail?payload=16384 HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let gone = false;
    socket.once("close", () => {
      gone = true;
    });
    const batch = Array.from({ length: 2 }, () => new Uint8Array(16_000).fill(97));
    const external = process.memoryUsage().external;
    // What the sockets' own buffers take is some megabytes; then it waits in memory, up to the bound.
    const until = performance.now() + 15_000;
    let free = false;
    while (!free && performance.now() < until) {
      for (let partition = 0; partition < 16; partition++) wire.send(produce(batch, { partition }));
      await wire.responses(16);
      const answer = await fetch(`http://127.0.0.1:${broker.opsPort}/metrics`);
      free = !/^millrace_tails 1$/m.test(await answer.text());
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(free).toBe(true);
    expect(process.memoryUsage().external - external).toBeLessThan(64 * 2 ** 20);
    socket.resume();
    await expect.poll(() => gone, { timeout: 5000 }).toBe(true);
  });
});
