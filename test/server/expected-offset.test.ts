// PRODUCE v2 over real sockets: a batch that is written only at the offset that its producer expects.

import { describe, expect, it } from "vitest";
import { connectTo, runBroker } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { sleep, until } from "../support/waiting.js";
import { fetch, hello, produce, produceAt, readFetched, readProduced, readStored, type Wire } from "../support/wire.js";

const OFFSET_MISMATCH = 11;

const names = (name: string, count = 2): string[] => Array.from({ length: count }, (_, i) => `${name}${i}`);
const batch = (name: string, count = 2): Uint8Array[] => names(name, count).map(ascii);
async function log(wire: Wire): Promise<string[]> {
  const { payload } = readFetched(await wire.ask(fetch(0)));
  return readStored(payload).payloads.map((record) => Buffer.from(record).toString());
}

describe("P11 PRODUCE v2", () => {
  it.each([1, 2])("P11 a batch whose answer was lost is repeated and is there once, ack %i", async (ack) => {
    const broker = await runBroker();
    for (let round = 0; round < 5; round++) {
      const base = round * 2;
      const lost = await connectTo(broker);
      lost.send(produceAt(base, batch(`r${round}-`), { ack }));
      lost.destroy();
      // Whether it arrived, nobody knows.
      if (round % 2 === 0) await sleep(5);
      const again = await connectTo(broker);
      const { error, body } = await again.ask(produceAt(base, batch(`r${round}-`), { ack }));
      expect([0, OFFSET_MISMATCH]).toContain(error);
      expect(body).toHaveLength(error === 0 ? 16 : 0);
      await until("the lost one has arrived", () => broker.statistics().connections <= round + 1);
      expect(await log(again)).toHaveLength(base + 2);
    }
    expect(await log(await connectTo(broker))).toEqual(Array.from({ length: 5 }, (_, r) => names(`r${r}-`)).flat());
  });

  it("P11 of two writers that expect the same offset exactly one succeeds, and nothing of the other's batch is there", async () => {
    const broker = await runBroker();
    const writers = [await connectTo(broker), await connectTo(broker)];
    let base = 0;
    for (let round = 0; round < 50; round++) {
      const size = 1 + (round % 3);
      const answers = await Promise.all(
        writers.map((wire, w) => wire.ask(produceAt(base, batch(`${round}-${w}-`, size), { ack: 1 + (round % 2) }))),
      );
      expect(answers.map(({ error }) => error).sort()).toEqual([0, OFFSET_MISMATCH]);
      const winner = answers.findIndex(({ error }) => error === 0);
      expect(readProduced(answers[winner])).toEqual({ base, end: base + size });
      base += size;
      expect((await log(writers[0])).slice(-size)).toEqual(names(`${round}-${winner}-`, size));
    }
    expect(await log(writers[0])).toHaveLength(base);
  });

  it("P11 a chain of batches in one go: each is judged behind the one before it, and one miss stops all that build on it", async () => {
    const wire = await connectTo(await runBroker());
    wire.send(produceAt(0, batch("a")), produceAt(2, batch("b")), produceAt(4, batch("c")));
    expect((await wire.responses(3)).map((response) => readProduced(response).base)).toEqual([0, 2, 4]);
    wire.send(produce(batch("x")), produceAt(6, batch("d")), produceAt(8, batch("e")), produceAt(-1, batch("y")));
    const [x, d, e, y] = await wire.responses(4);
    expect(readProduced(x).base).toBe(6);
    expect(d).toMatchObject({ error: OFFSET_MISMATCH });
    expect(readProduced(e).base).toBe(8);
    expect(readProduced(y).base).toBe(10);
    wire.send(produceAt(13, batch("f")), produceAt(14, batch("g")));
    expect((await wire.responses(2)).map(({ error }) => error)).toEqual([OFFSET_MISMATCH, OFFSET_MISMATCH]);
    expect(await log(wire)).toEqual([..."abcxey"].flatMap((name) => names(name)));
  });

  it("takes −1 for any offset, and no other number that is not the log's end", async () => {
    const broker = await runBroker();
    const wire = await connectTo(broker);
    expect(readProduced(await wire.ask(produceAt(-1, batch("a")))).base).toBe(0);
    for (const wrong of [0, 1, 3, -2, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)]) {
      expect(await wire.ask(produceAt(wrong, batch("b"), { correlation: 5 }))).toEqual({
        correlation: 5,
        error: OFFSET_MISMATCH,
        body: new Uint8Array(0),
      });
    }
    expect(readProduced(await wire.ask(produceAt(2, batch("c")))).base).toBe(2);
    expect(broker.statistics().errors.OFFSET_MISMATCH).toBe(7);
  });

  it("has no response with ackPolicy 0, written or not", async () => {
    const broker = await runBroker();
    const wire = await connectTo(broker);
    wire.send(produceAt(0, batch("a"), { ack: 0 }), produceAt(0, batch("b"), { ack: 0 }), hello(7));
    expect((await wire.response()).correlation).toBe(7);
    await expect.poll(() => log(wire)).toEqual(names("a"));
    expect(broker.statistics().errors.OFFSET_MISMATCH).toBe(1);
  });
});
