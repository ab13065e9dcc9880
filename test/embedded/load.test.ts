// Producers and followers of logs in the process, all at once, over many segments: each record is given once, in order.

import { expect, it } from "vitest";
import { type Client, memoryCheckpoints, openClient } from "../../src/index.js";
import { tempDir } from "../support/tmp.js";

const PARTITIONS = 3;
const PRODUCERS = 4;
const RECORDS = 3000;
const ALL = PRODUCERS * RECORDS;

/** Follows until it has as many as there will be; with a store it leaves and comes back now and then. */
async function follow(client: Client, leaves: boolean): Promise<Map<number, string[]>> {
  const seen = new Map<number, string[]>();
  const store = memoryCheckpoints();
  let count = 0;
  while (count < ALL) {
    const following = client
      .follow("orders", { maxBytes: 8 * 1024, answerBytes: 16 * 1024 })
      .checkpointing(store, { saveEveryMs: 0 });
    for await (const batch of following) {
      const own = seen.get(batch.partition) ?? [];
      seen.set(batch.partition, own);
      // Neither a gap nor one that comes twice.
      expect(batch.baseOffset).toBe(own.length);
      for (const record of batch.records) own.push(Buffer.from(record).toString());
      count += batch.length;
      if (count === ALL || (leaves && batch.baseOffset % 7 === 0)) {
        await following.save(batch);
        break;
      }
    }
  }
  return seen;
}

it("P01 P03 C1 four producers and three followers over many segments: every record once, in order", async () => {
  const log = { segmentBytes: 32 * 1024, diskReserveBytes: 0 };
  await using client = await openClient({ dir: tempDir("load"), topics: { orders: PARTITIONS }, log });
  const followers = [follow(client, false), follow(client, true), follow(client, true)];
  const sent = new Map<number, Map<number, string>>();
  const produce = async (name: number): Promise<void> => {
    const producer = client.producer({ lingerMs: 1, ack: name % 2 === 0 ? "written" : "forced", batchBytes: 4 * 1024 });
    const sends = Array.from({ length: RECORDS }, async (_, n) => {
      const text = `${name} ${n} ${"x".repeat(n % 200)}`;
      const { partition, offset } = await producer.send("orders", text, { partition: n % PARTITIONS });
      const own = sent.get(partition) ?? new Map<number, string>();
      sent.set(partition, own);
      own.set(offset, text);
    });
    await Promise.all(sends);
    await producer.close();
  };
  await Promise.all(Array.from({ length: PRODUCERS }, (_, name) => produce(name)));
  for (const seen of await Promise.all(followers)) {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const own = sent.get(partition) as Map<number, string>;
      expect(seen.get(partition)).toEqual(Array.from({ length: own.size }, (_, offset) => own.get(offset)));
      // Each producer's own are in the order of its calls.
      for (let name = 0; name < PRODUCERS; name++) {
        const order = (seen.get(partition) ?? [])
          .filter((text) => text.startsWith(`${name} `))
          .map((text) => Number(text.split(" ")[1]));
        expect(order).toEqual([...order].sort((a, b) => a - b));
      }
    }
  }
}, 60_000);
