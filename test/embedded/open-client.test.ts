// A client of logs in this process, as a program opens one. What all clients have in common is in test/client/conformance.test.ts.

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Client, connect, type OpenClientOptions, openClient, openLog } from "../../src/index.js";
import { runProgram } from "../log/support/program.js";
import { root } from "../rules/sources.js";
import { runBroker, testSettings } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";

const code = (expected: string) => expect.objectContaining({ code: expected });
/** Small, and on a disk that is nearly full, too. */
const log = { segmentBytes: 1024 * 1024, diskReserveBytes: 0 };
const open = (dir: string, topics: Record<string, number>, more: Partial<OpenClientOptions> = {}): Promise<Client> =>
  openClient({ dir, topics, log, ...more });

async function read(client: Client, topic: string): Promise<string[]> {
  const all: string[] = [];
  for await (const { payload } of client.replay(topic).records()) all.push(Buffer.from(payload).toString());
  return all;
}

describe("a client of logs in a directory", () => {
  it("makes what is not there, keeps it, and may have more partitions later", async () => {
    const dir = join(tempDir("embedded"), "made");
    const first = await open(dir, { orders: 2, clicks: 1 });
    await first.producer().batch("orders", ["a", "b"], { partition: 1 });
    await first.close();
    expect(readdirSync(dir).sort()).toEqual([".lock", "clicks-0", "millrace.json", "orders-0", "orders-1"]);
    const second = await open(dir, { orders: 4 });
    expect((await second.topics()).map(({ topic, partitions }) => [topic, partitions.length])).toEqual([["orders", 4]]);
    expect(await read(second, "orders")).toEqual(["a", "b"]);
    await second.close();
  });

  it("shares its layout with a broker: each goes on where the other stopped, and one at a time has it", async () => {
    const dir = tempDir("embedded");
    const client = await open(dir, { orders: 2 });
    await client.producer().send("orders", "from the program", { partition: 1 });
    await expect(runBroker({ ...testSettings(dir), topics: "orders:2" })).rejects.toThrow(code("DATA_DIR_IN_USE"));
    await expect(open(dir, { orders: 2 })).rejects.toThrow(code("DATA_DIR_IN_USE"));
    await client.close();
    const broker = await runBroker({ ...testSettings(dir), topics: "orders:2" });
    await expect(open(dir, { orders: 2 })).rejects.toThrow(code("DATA_DIR_IN_USE"));
    const remote = await connect({ broker: broker.address });
    await remote.producer().send("orders", "from the broker", { partition: 1 });
    await remote.close();
    await broker.stop();
    await using again = await open(dir, { orders: 2 });
    expect(await read(again, "orders")).toEqual(["from the program", "from the broker"]);
  });

  it("takes a record that no broker would take, which a broker then serves to those alone who may ask for so much", async () => {
    const dir = tempDir("embedded");
    const large = Buffer.alloc(9 * 1024 * 1024, "x");
    const client = await open(dir, { orders: 1 }, { log: { ...log, segmentBytes: 16 * 1024 * 1024 } });
    await client.producer().send("orders", large);
    expect((await read(client, "orders"))[0]).toHaveLength(large.length);
    await client.close();
    const broker = await runBroker(testSettings(dir));
    await using remote = await connect({ broker: broker.address });
    await expect(remote.producer().send("orders", large)).rejects.toThrow(code("RECORD_TOO_LARGE"));
    await expect(read(remote, "orders")).rejects.toThrow(code("RECORD_EXCEEDS_MAX_BYTES"));
    const lengths: number[] = [];
    for await (const { payload } of remote.replay("orders", { maxBytesLimit: 16 * 1024 * 1024 }).records()) {
      lengths.push(payload.length);
    }
    expect(lengths).toEqual([large.length]);
  });

  it("adds partitions in the format that the topic has", async () => {
    const dir = tempDir("embedded");
    await (await open(dir, { orders: 1 }, { log: { ...log, recordFormat: "plain" } })).close();
    await using client = await open(dir, { orders: 3, clicks: 1 });
    await client.producer().send("orders", "x", { partition: 2 });
    expect(await read(client, "orders")).toEqual(["x"]);
    const formats = (await client.topics()).map(({ topic, recordFormat }) => [topic, recordFormat]);
    expect(formats).toEqual([
      ["clicks", "crc32c"],
      ["orders", "plain"],
    ]);
  });

  it("refuses fewer partitions, one that is gone, and names that clash; the directory is free afterwards", async () => {
    const dir = tempDir("embedded");
    await (await open(dir, { orders: 3 })).close();
    await expect(open(dir, { orders: 2 })).rejects.toThrow(code("BAD_CONFIG"));
    await expect(open(dir, { Orders: 3 })).rejects.toThrow(code("BAD_CONFIG"));
    await expect(open(dir, { orders: 3, Orders: 3 })).rejects.toThrow(code("BAD_ARGUMENT"));
    await expect(open(dir, { orders: 3 }, { log: { ...log, recordFormat: "plain" } })).rejects.toThrow(
      code("BAD_CONFIG"),
    );
    rmSync(join(dir, "orders-1"), { recursive: true });
    await expect(open(dir, { orders: 3 })).rejects.toThrow(code("BAD_CONFIG"));
    expect(existsSync(join(dir, "orders-1"))).toBe(false);
    const other = await open(dir, { clicks: 1 });
    await other.close();
  });

  it("lets go of everything when one partition does not open", async () => {
    const dir = tempDir("embedded");
    await (await open(dir, { orders: 2 })).close();
    const held = await openLog(join(dir, "orders-1"), log);
    await expect(open(dir, { orders: 2 })).rejects.toThrow(code("PARTITION_IN_USE"));
    await held.close();
    await (await open(dir, { orders: 2 })).close();
  });
});

describe("a client of logs that the program opened", () => {
  it("leaves them open, and what either appends both have", async () => {
    const dir = tempDir("embedded");
    await using audit = await openLog(join(dir, "audit"), log);
    const parts = [await openLog(join(dir, "o0"), log), await openLog(join(dir, "o1"), log)];
    const client = await openClient({ topics: { audit, orders: parts } });
    const following = client.follow("audit").records();
    const next = following.next();
    await sleep(20);
    await audit.append(Buffer.from("by the log"), { ack: "written" });
    expect(Buffer.from((await next).value?.payload ?? []).toString()).toBe("by the log");
    await client.producer().send("orders", "by the client", { partition: 1 });
    expect(parts.map(({ logEndOffset }) => logEndOffset)).toEqual([0, 1]);
    await client.close();
    await audit.append(Buffer.from("still open"));
    for (const each of parts) await each.close();
  });

  it("two clients may have the same logs", async () => {
    await using orders = await openLog(tempDir("embedded"), log);
    await using one = await openClient({ topics: { orders } });
    await using other = await openClient({ topics: { renamed: orders } });
    const next = other.follow("renamed").records().next();
    await one.producer().send("orders", "x");
    expect(Buffer.from((await next).value?.payload ?? []).toString()).toBe("x");
  });

  it("closed under the client, they end what waits and what comes with CLOSED; the others go on", async () => {
    const dir = tempDir("embedded");
    const [orders, clicks] = [await openLog(join(dir, "o"), log), await openLog(join(dir, "c"), log)];
    await using client = await openClient({ topics: { orders, clicks } });
    const producer = client.producer();
    await producer.send("orders", "x");
    const waiting = client.follow("orders", { from: "latest" }).records().next();
    const both = client.follow(["orders", "clicks"], { from: "latest" }).records().next();
    const elsewhere = client.follow("clicks").records().next();
    for (const each of [waiting, both]) each.catch(() => undefined);
    await sleep(30);
    await orders.close();
    await expect(waiting).rejects.toThrow(code("CLOSED"));
    await expect(both).rejects.toThrow(code("CLOSED"));
    await expect(producer.send("orders", "y")).rejects.toThrow(code("CLOSED"));
    // Not after the time for a delivery, as to a broker that is away.
    await expect(client.producer().send("orders", "z")).rejects.toThrow(code("CLOSED"));
    await expect(client.listOffsets("orders", 0, "latest")).rejects.toThrow(code("CLOSED"));
    await producer.send("clicks", "on");
    expect(Buffer.from((await elsewhere).value?.payload ?? []).toString()).toBe("on");
    await clicks.close();
  });

  it("refuse a record that no segment holds, with the code that a broker sends", async () => {
    await using orders = await openLog(tempDir("embedded"), { ...log, segmentBytes: 64 * 1024 });
    await using client = await openClient({ topics: { orders } });
    const large = client.producer().send("orders", new Uint8Array(64 * 1024));
    await expect(large).rejects.toMatchObject({ code: "RECORD_TOO_LARGE" });
    expect((await client.producer().send("orders", "fits")).offset).toBe(0);
  });

  it("must be of one format, and each in one place", async () => {
    const dir = tempDir("embedded");
    await using plain = await openLog(join(dir, "p"), { ...log, recordFormat: "plain" });
    await using summed = await openLog(join(dir, "s"), log);
    const wrong: OpenClientOptions["topics"][] = [
      { a: [plain, summed] },
      { a: plain, b: plain },
      { a: [plain, plain] },
      { a: [] },
    ];
    for (const topics of wrong) {
      await expect(openClient({ topics })).rejects.toThrow(code("BAD_ARGUMENT"));
    }
  });
});

describe("openClient", () => {
  it("names the option that is wrong, and opens nothing", async () => {
    const dir = join(tempDir("embedded"), "nothing");
    const wrong = [
      undefined,
      {},
      { topics: {} },
      { topics: { orders: 3 } },
      { dir, topics: { orders: 0 } },
      { dir, topics: { orders: 1.5 } },
      { dir, topics: { "no/topic": 1 } },
      { dir, topics: "orders:3" },
      { dir, topics: ["orders"] },
      { dir: "", topics: { orders: 1 } },
      { dir, topics: { orders: 1 }, log: { segmentByte: 1 } },
      { dir, topics: { orders: 1 }, retry: 1 },
      { dir, topics: { orders: "./orders" } },
    ];
    for (const options of wrong) {
      await expect(openClient(options as unknown as OpenClientOptions)).rejects.toThrow(code("BAD_ARGUMENT"));
    }
    expect(existsSync(dir)).toBe(false);
  });

  it("has examples that run and print what one expects", async () => {
    const source = readFileSync(join(root, "src/embedded/open-client.ts"), "utf8");
    const examples = [...source.matchAll(/@example\n *\* ```ts\n([\s\S]*?) *\* ```/g)].map(([, text = ""]) =>
      text.replaceAll(/^ *\* ?/gm, ""),
    );
    const prints = ["orders 0 apples 3\n", "1\n"];
    expect(examples).toHaveLength(prints.length);
    for (const [i, example] of examples.entries()) {
      const { code: exit, stdout, stderr } = await runProgram(example, tempDir());
      expect([exit, stdout, stderr]).toEqual([0, prints[i], ""]);
    }
  });

  it("keeps no process alive that does nothing, and one that follows as long as it does", async () => {
    const program = `
      import { openClient } from "millrace";
      const client = await openClient({ dir: "./log", topics: { orders: 1 }, log: { diskReserveBytes: 0 } });
      setTimeout(() => void client.producer().send("orders", "late"), 300);
      for await (const { payload } of client.follow("orders").records()) { console.log(Buffer.from(payload).toString()); break; }
      console.log("done");`;
    const { code: exit, stdout, stderr, ms } = await runProgram(program, tempDir());
    expect([exit, stdout, stderr]).toEqual([0, "late\ndone\n", ""]);
    expect(ms).toBeLessThan(10_000);
  });
});
