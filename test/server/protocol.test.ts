// What the broker answers, byte for byte, over real sockets: the scenarios of the wire, and every fault of a request.

import { describe, expect, it } from "vitest";
import { connectTo, runBroker } from "../support/broker.js";
import { ascii, concat, hex, int32, withExtremes } from "../support/bytes.js";
import {
  Fields,
  fetch,
  frame,
  hello,
  int8,
  int16,
  int64,
  metadata,
  produce,
  readFetched,
  readProduced,
  readStored,
  region,
  string,
  Wire,
} from "../support/wire.js";

const records = (count: number, bytes = 10): Uint8Array[] =>
  Array.from({ length: count }, (_, i) => ascii(`${i}`.padEnd(bytes, ".")));

const UNKNOWN = 1;
const OUT_OF_RANGE = 2;
const UNSUPPORTED = 4;
const CORRUPT = 5;

describe("PRODUCE and FETCH", () => {
  it("a batch gets adjacent offsets and comes back as it was", async () => {
    const wire = await connectTo(await runBroker());
    const first = await wire.ask(produce(records(3), { correlation: 7 }));
    expect(first).toMatchObject({ correlation: 7, error: 0 });
    expect(readProduced(first)).toEqual({ base: 0, end: 3 });
    expect(readProduced(await wire.ask(produce(records(2), { ack: 2 })))).toEqual({ base: 3, end: 5 });
    const { highWatermark, payload } = readFetched(await wire.ask(fetch(1)));
    expect(highWatermark).toBe(5);
    expect(readStored(payload)).toEqual({ payloads: [...records(3).slice(1), ...records(2)], tail: 0 });
  });

  it("the bytes of a response are exactly those of the protocol", async () => {
    const wire = await connectTo(await runBroker({ "record.format": "plain" }));
    wire.send(produce([ascii("abc")], { correlation: 0x01020304 }), fetch(0, { correlation: -1 }));
    const expected = hex(`
      00000016 01020304 0000 0000000000000000 0000000000000001
      00000019 ffffffff 0000 0000000000000001 00000007 00000003 616263`);
    const got: Buffer[] = [];
    wire.socket.removeAllListeners("data");
    wire.socket.on("data", (chunk) => got.push(chunk));
    while (Buffer.concat(got).length < expected.length) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(Buffer.concat(got)).toEqual(Buffer.from(expected));
  });

  it("S16 an offset behind the end is OFFSET_OUT_OF_RANGE without a body, the end itself is an empty batch", async () => {
    const wire = await connectTo(await runBroker());
    await wire.ask(produce(records(5)));
    for (const offset of [6, 7, 1_000_000, 2n ** 40n, 2n ** 63n - 1n]) {
      const response = await wire.ask(fetch(offset, { correlation: 9 }));
      expect(response).toEqual({ correlation: 9, error: OUT_OF_RANGE, body: new Uint8Array(0) });
    }
    const atEnd = await wire.ask(fetch(5));
    expect(atEnd.error).toBe(0);
    expect(readFetched(atEnd)).toEqual({ highWatermark: 5, payload: new Uint8Array(0) });
  });

  it("S17 a payload ends on the byte at which maxBytes ends it, and the next one starts at the record that was cut", async () => {
    const wire = await connectTo(await runBroker());
    const sent = records(10, 100);
    await wire.ask(produce(sent));
    const whole = readFetched(await wire.ask(fetch(0))).payload;
    expect(whole).toHaveLength(10 * 108);
    for (const maxBytes of [1, 7, 107, 108, 109, 500, 1079, 1080, 5000]) {
      const { payload } = readFetched(await wire.ask(fetch(0, { maxBytes })));
      expect(payload).toEqual(whole.slice(0, maxBytes));
    }
    const got: Uint8Array[] = [];
    for (let offset = 0; offset < 10; offset = got.length) {
      const { payload } = readFetched(await wire.ask(fetch(offset, { maxBytes: 250 })));
      got.push(...readStored(payload).payloads);
    }
    expect(got).toEqual(sent);
  });

  it("S19 fifty calls at once on one connection: each gets the offset of its own batch, in their order", async () => {
    const wire = await connectTo(await runBroker());
    const calls = Array.from({ length: 50 }, (_, i) =>
      produce([ascii(`call ${i}`)], { correlation: 1000 + i, ack: 1 + (i % 2) }),
    );
    wire.send(...calls);
    const responses = await wire.responses(50);
    expect(responses.map(({ correlation }) => correlation)).toEqual(calls.map((_, i) => 1000 + i));
    const stored = readStored(readFetched(await wire.ask(fetch(0))).payload).payloads;
    responses.forEach((response, i) => {
      expect(response.error).toBe(0);
      expect(stored[readProduced(response).base]).toEqual(ascii(`call ${i}`));
    });
  });

  it("S20 partitions and topics start at zero and know nothing of each other", async () => {
    const wire = await connectTo(await runBroker({ topics: "orders:3,clicks:1" }));
    const places = [
      ["orders", 0],
      ["orders", 1],
      ["orders", 2],
      ["clicks", 0],
    ] as const;
    for (const [i, [topic, partition]] of places.entries()) {
      const response = await wire.ask(produce(records(i + 1), { topic, partition }));
      expect(readProduced(response)).toEqual({ base: 0, end: i + 1 });
    }
    for (const [i, [topic, partition]] of places.entries()) {
      const { highWatermark, payload } = readFetched(await wire.ask(fetch(0, { topic, partition })));
      expect(highWatermark).toBe(i + 1);
      expect(readStored(payload).payloads).toEqual(records(i + 1));
    }
  });

  it("a fetch behind a produce on the same connection sees its records, forced or written", async () => {
    const wire = await connectTo(await runBroker());
    wire.send(produce(records(2), { ack: 2 }), fetch(0), produce(records(1), { ack: 0 }), fetch(2));
    const [produced, first, second] = await wire.responses(3);
    expect(readProduced(produced).base).toBe(0);
    expect(readStored(readFetched(first).payload).payloads.length).toBeGreaterThanOrEqual(2);
    expect(readStored(readFetched(second).payload).payloads).toEqual(records(1));
  });

  it("many requests of all kinds, mixed, are answered one for one and in order", async () => {
    const wire = await connectTo(await runBroker({ topics: "orders:2" }));
    const requests: Uint8Array[] = [];
    const answered: number[] = [];
    for (let i = 0; i < 3000; i++) {
      const correlation = i;
      const kind = i % 7;
      if (kind !== 6) answered.push(i);
      if (kind === 0) requests.push(produce(records(3), { correlation }));
      else if (kind === 1) requests.push(fetch(0, { correlation, maxBytes: 100 }));
      else if (kind === 2) requests.push(metadata([], 1, correlation));
      else if (kind === 3) requests.push(hello(correlation));
      else if (kind === 4) requests.push(produce(records(1), { correlation, ack: 2, partition: 1 }));
      else if (kind === 5) requests.push(frame(99, 1, correlation, new Uint8Array(0)));
      else requests.push(produce(records(1), { correlation, ack: 0 }));
    }
    wire.send(...requests);
    const responses = await wire.responses(answered.length);
    expect(responses.map(({ correlation }) => correlation)).toEqual(answered);
    expect(responses.map(({ error }) => error)).toEqual(answered.map((i) => (i % 7 === 5 ? UNSUPPORTED : 0)));
  });

  it("the broker also answers on a Unix socket", async () => {
    const socketPath = `/tmp/millrace-test-${process.pid}.sock`;
    await runBroker({ "socket.path": socketPath });
    const wire = await Wire.connect(socketPath);
    expect(readProduced(await wire.ask(produce(records(1))))).toEqual({ base: 0, end: 1 });
    wire.destroy();
  });
});

describe("ackPolicy 0", () => {
  it("has no response, and its records are there", async () => {
    const wire = await connectTo(await runBroker());
    for (let i = 0; i < 2000; i++) wire.send(produce([ascii(`${i}`)], { ack: 0, correlation: i }));
    const response = await wire.ask(produce(records(1), { correlation: 77 }));
    expect(response.correlation).toBe(77);
    expect(readProduced(response)).toEqual({ base: 2000, end: 2001 });
  });

  it("has no response for an error either, whatever the error is", async () => {
    const wire = await connectTo(await runBroker());
    const head = (topic: string, partition: number, ack: number): Uint8Array =>
      concat(string(topic), int32(partition), int8(ack));
    wire.send(
      produce(records(1), { ack: 0, topic: "nowhere" }),
      produce(records(1), { ack: 0, partition: 5 }),
      frame(1, 1, 1, concat(head("orders", 0, 0), int32(2), region(records(1)))),
      frame(1, 1, 1, concat(head("or ders", 0, 0), int32(1), region(records(1)))),
      frame(1, 1, 1, concat(head("orders", -1, 0), int32(1), region(records(1)))),
      frame(1, 1, 1, head("orders", 0, 0)),
      hello(55),
    );
    expect((await wire.response()).correlation).toBe(55);
    expect(readFetched(await wire.ask(fetch(0))).highWatermark).toBe(0);
  });
});

describe("S21 requests that cannot be carried out", () => {
  it("S21 a partition and a topic that are not there, an apiKey and a version that are not known", async () => {
    const wire = await connectTo(await runBroker({ topics: "orders:3" }));
    const cases: readonly (readonly [request: Uint8Array, error: number])[] = [
      [produce(records(1), { partition: 3, correlation: 1 }), UNKNOWN],
      [produce(records(1), { topic: "Orders", correlation: 2 }), UNKNOWN],
      [produce(records(1), { topic: "order", correlation: 3 }), UNKNOWN],
      [fetch(0, { partition: 3, correlation: 4 }), UNKNOWN],
      [fetch(0, { partition: 2 ** 31 - 1, correlation: 5 }), UNKNOWN],
      [fetch(0, { topic: "clicks", correlation: 6 }), UNKNOWN],
      [metadata(["orders", "clicks"], 1, 7), UNKNOWN],
      [frame(0, 1, 8, new Uint8Array(0)), UNSUPPORTED],
      [frame(77, 1, 9, ascii("anything")), UNSUPPORTED],
      [frame(1, 0, 10, new Uint8Array(0)), UNSUPPORTED],
      [frame(1, 99, 11, new Uint8Array(0)), UNSUPPORTED],
      [frame(2, -1, 12, new Uint8Array(0)), UNSUPPORTED],
      [frame(-1, 1, 13, new Uint8Array(0)), UNSUPPORTED],
      [frame(4, 2, 14, new Uint8Array(0)), UNSUPPORTED],
    ];
    for (const [i, [request, error]] of cases.entries()) {
      expect(await wire.ask(request)).toEqual({ correlation: i + 1, error, body: new Uint8Array(0) });
    }
    expect(readProduced(await wire.ask(produce(records(1))))).toEqual({ base: 0, end: 1 });
  });

  it("a frame too short for its header is CORRUPT_REQUEST with correlation id 0", async () => {
    const wire = await connectTo(await runBroker());
    for (let length = 1; length < 8; length++) {
      const response = await wire.ask(concat(int32(length), new Uint8Array(length).fill(1)));
      expect(response).toEqual({ correlation: 0, error: CORRUPT, body: new Uint8Array(0) });
    }
    expect((await wire.ask(hello(3))).correlation).toBe(3);
  });

  it("a body that does not parse is CORRUPT_REQUEST, and the connection stays open", async () => {
    const wire = await connectTo(await runBroker());
    const head = (topic: string, partition: number, ack: number): Uint8Array =>
      concat(string(topic), int32(partition), int8(ack));
    const one = region(records(1));
    const long = "x".repeat(250);
    const bodies: readonly (readonly [what: string, apiKey: number, body: Uint8Array])[] = [
      ["nothing", 1, new Uint8Array(0)],
      ["a topic length alone", 1, int16(6)],
      ["a topic cut", 1, concat(int16(6), ascii("ord"))],
      ["an empty topic", 1, concat(head("", 0, 1), int32(1), one)],
      ["a topic of 250", 1, concat(head(long, 0, 1), int32(1), one)],
      ["a topic with a slash", 1, concat(head("a/b", 0, 1), int32(1), one)],
      ["a topic with a zero byte", 1, concat(head("a\0b", 0, 1), int32(1), one)],
      ["a topic that is not ASCII", 1, concat(int16(2), Uint8Array.of(0xc3, 0xa9), int32(0), int8(1), int32(1), one)],
      ["a negative partition", 1, concat(head("orders", -1, 1), int32(1), one)],
      ["an unknown ackPolicy", 1, concat(head("orders", 0, 3), int32(1), one)],
      ["a negative ackPolicy", 1, concat(head("orders", 0, -1), int32(1), one)],
      ["no count", 1, head("orders", 0, 1)],
      ["no records", 1, concat(head("orders", 0, 1), int32(0))],
      ["a negative count", 1, concat(head("orders", 0, 1), int32(-1), one)],
      ["a count that cannot fit", 1, concat(head("orders", 0, 1), int32(2 ** 31 - 1), one)],
      ["more records than there are", 1, concat(head("orders", 0, 1), int32(2), one)],
      ["fewer records than there are", 1, concat(head("orders", 0, 1), int32(1), one, one)],
      ["an empty record", 1, concat(head("orders", 0, 1), int32(1), int32(0), int8(1))],
      ["a negative size", 1, concat(head("orders", 0, 1), int32(1), int32(-5), ascii("12345"))],
      ["a size behind the end", 1, concat(head("orders", 0, 1), int32(1), int32(2 ** 31 - 1), ascii("12345"))],
      ["a byte left over", 1, concat(head("orders", 0, 1), int32(1), one, int8(0))],
      ["a fetch without maxBytes", 2, concat(string("orders"), int32(0), int64(0))],
      ["a fetch with a byte left over", 2, concat(string("orders"), int32(0), int64(0), int32(1), int8(0))],
      ["a negative offset", 2, concat(string("orders"), int32(0), int64(-1), int32(1))],
      ["the most negative offset", 2, concat(string("orders"), int32(0), int64(-(2n ** 63n)), int32(1))],
      ["maxBytes 0", 2, concat(string("orders"), int32(0), int64(0), int32(0))],
      ["negative maxBytes", 2, concat(string("orders"), int32(0), int64(0), int32(-1))],
      ["a fetch from a negative partition", 2, concat(string("orders"), int32(-1), int64(0), int32(1))],
      ["metadata without a count", 3, new Uint8Array(0)],
      ["metadata with a negative count", 3, int32(-1)],
      ["metadata with a count that cannot fit", 3, concat(int32(2 ** 31 - 1), string("orders"))],
      ["metadata with a bad name", 3, concat(int32(1), string("a b"))],
      ["metadata with a byte left over", 3, concat(int32(0), int8(0))],
      ["hello with a body", 4, int8(0)],
    ];
    for (const [what, apiKey, body] of bodies) {
      const response = await wire.ask(frame(apiKey, 1, 42, body));
      expect([what, response]).toEqual([what, { correlation: 42, error: CORRUPT, body: new Uint8Array(0) }]);
    }
    expect(readFetched(await wire.ask(fetch(0)))).toEqual({ highWatermark: 0, payload: new Uint8Array(0) });
  });

  it("a batch of which one record does not parse leaves nothing behind, and those around it are there", async () => {
    const wire = await connectTo(await runBroker());
    const body = concat(string("orders"), int32(0), int8(1), int32(3), region(records(2)), int32(0), ascii("x"));
    wire.send(produce(records(1), { correlation: 1 }), frame(1, 1, 2, body), produce(records(1), { correlation: 3 }));
    const [before, bad, after] = await wire.responses(3);
    expect(readProduced(before)).toEqual({ base: 0, end: expect.any(Number) });
    expect(bad).toEqual({ correlation: 2, error: CORRUPT, body: new Uint8Array(0) });
    expect(readProduced(after)).toEqual({ base: 1, end: 2 });
  });

  it("a length outside 1 … maxFrameBytes closes the connection, after what came before was answered", async () => {
    const broker = await runBroker({ "max.frame.bytes": "64KiB" });
    for (const length of [0, -1, 64 * 1024 + 1, 2 ** 31 - 1, -(2 ** 31)]) {
      const wire = await connectTo(broker);
      wire.send(hello(1), int32(length), new Uint8Array(100));
      expect((await wire.response()).correlation).toBe(1);
      await expect(wire.response()).rejects.toThrow("the connection ended");
    }
    const wire = await connectTo(broker);
    const largest = 64 * 1024 - 8 - (2 + 6 + 4 + 1 + 4) - 4;
    expect((await wire.ask(produce([new Uint8Array(largest)]))).error).toBe(0);
  });

  it("the largest record that a request can bring fits the smallest segment that may be configured with it", async () => {
    const settings = {
      "max.frame.bytes": "64KiB",
      "connection.queued.bytes.max": "64KiB",
      "segment.bytes": 64 * 1024 + 1,
    };
    for (const mode of ["MAPPED", "FILE_CHANNEL"] as const) {
      const wire = await connectTo(await runBroker({ ...settings, "segment.mode": mode }));
      const largest = 64 * 1024 - 8 - (2 + 6 + 4 + 1 + 4) - 4;
      for (let i = 0; i < 3; i++) {
        expect(readProduced(await wire.ask(produce([new Uint8Array(largest).fill(i)], { ack: 2 }))).base).toBe(i);
      }
      for (let i = 0; i < 3; i++) {
        const { payloads } = readStored(readFetched(await wire.ask(fetch(i))).payload);
        expect(payloads).toEqual([new Uint8Array(largest).fill(i)]);
      }
    }
  });

  it("no int32 of a request makes the broker answer anything but an error or the truth", async () => {
    const broker = await runBroker();
    const good = produce(records(2), { correlation: 5 });
    // Behind the length prefix, which closes the connection, and behind the api key, which is another request.
    for (let at = 12; at + 4 <= good.length; at++) {
      const wire = await connectTo(broker);
      let asked = 0;
      for (const changed of withExtremes(good, at)) {
        // An acknowledgement policy of 0 has no answer.
        if (changed[4 + 8 + 2 + 6 + 4] === 0) continue;
        wire.send(changed);
        asked++;
      }
      for (const { error } of await wire.responses(asked)) expect([0, UNKNOWN, CORRUPT]).toContain(error);
      wire.destroy();
    }
  });
});

describe("METADATA and HELLO", () => {
  it("METADATA v1 lists topics by name and partitions by number", async () => {
    const wire = await connectTo(await runBroker({ topics: "orders:2,a.b:1,Zebra:1" }));
    await wire.ask(produce(records(4), { partition: 1 }));
    const { body, error } = await wire.ask(metadata());
    expect(error).toBe(0);
    const fields = new Fields(body);
    const topics = Array.from({ length: fields.int32() }, () => ({
      topic: fields.string(),
      partitions: Array.from({ length: fields.int32() }, () => [fields.int32(), fields.int64(), fields.int64()]),
    }));
    expect(fields.left).toBe(0);
    expect(topics).toEqual([
      { topic: "Zebra", partitions: [[0, 0, 0]] },
      { topic: "a.b", partitions: [[0, 0, 0]] },
      {
        topic: "orders",
        partitions: [
          [0, 0, 0],
          [1, 0, 4],
        ],
      },
    ]);
  });

  it("METADATA v2 says format, epoch and all offsets; named topics alone; a name that stands twice is answered once", async () => {
    const wire = await connectTo(await runBroker({ topics: "orders:1,clicks:1", "record.format": "plain" }));
    await wire.ask(produce(records(4), { ack: 2 }));
    const { body } = await wire.ask(metadata(["orders", "orders"], 2));
    const fields = new Fields(body);
    expect([fields.int32(), fields.string(), fields.int8(), fields.int32()]).toEqual([1, "orders", 0, 1]);
    expect([fields.int32(), fields.int32()]).toEqual([0, expect.any(Number)]);
    expect([fields.int64(), fields.int64(), fields.int64(), fields.int64()]).toEqual([0, 4, 4, 4]);
    expect(fields.left).toBe(0);
  });

  it("a METADATA answer larger than any buffer of the broker arrives whole", async () => {
    const wire = await connectTo(await runBroker({ topics: "orders:1,many:300" }));
    const many = Array.from({ length: 40 }, (_, i) => metadata(["many"], 2, i));
    wire.send(...many);
    const responses = await wire.responses(40);
    for (const [i, { correlation, body }] of responses.entries()) {
      expect(correlation).toBe(i);
      const fields = new Fields(body);
      expect([fields.int32(), fields.string(), fields.int8(), fields.int32()]).toEqual([1, "many", 1, 300]);
      expect(fields.left).toBe(300 * 40);
    }
  });

  it("HELLO says name, version, bounds and what is spoken", async () => {
    const broker = await runBroker({ "max.frame.bytes": "1MiB" });
    const fields = new Fields((await (await connectTo(broker)).ask(hello())).body);
    expect([fields.string(), fields.string()]).toEqual(["millrace", broker.version]);
    expect([fields.int32(), fields.int32()]).toEqual([1024 * 1024, 60_000]);
    const versions = Array.from({ length: fields.int32() }, () => [fields.int16(), fields.int16(), fields.int16()]);
    expect(versions).toEqual([
      [1, 1, 2],
      [2, 1, 3],
      [3, 1, 2],
      [4, 1, 1],
      [5, 1, 1],
    ]);
    expect(fields.left).toBe(0);
  });
});
