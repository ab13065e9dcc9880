// Random programs on an embedded log with tiny segments, against an array: appends of every size and acknowledgement at once,
// batches over several segments, reads from anywhere, forces, closing and opening again on the other write path.

import fc from "fast-check";
import { expect, it } from "vitest";
import { type Log, openLog } from "../../src/index.js";
import { printedSeed } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";
import { collect } from "./support/records.js";

const batch = fc.record({
  do: fc.constant("append" as const),
  sizes: fc.array(
    fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 1, max: 300 }) }, fc.integer({ min: 301, max: 4088 })),
    {
      minLength: 1,
      maxLength: 12,
    },
  ),
  ack: fc.constantFrom("forced" as const, "written" as const),
});
const step = fc.oneof(
  { weight: 20, arbitrary: batch },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("wait" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("read" as const),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      maxBytes: fc.integer({ min: 1, max: 9000 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("force" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("reopen" as const) }) },
);
const program = fc.record({
  format: fc.constantFrom("plain" as const, "crc32c" as const),
  visibility: fc.constantFrom("written" as const, "durable" as const),
  steps: fc.array(step, { minLength: 1, maxLength: 60 }),
});

class Play {
  log!: Log;
  readonly expected: Uint8Array[] = [];
  #pending: Promise<void>[] = [];
  #opened = 0;
  readonly #dir = tempDir();

  constructor(
    readonly format: "plain" | "crc32c",
    readonly visibility: "written" | "durable",
  ) {}

  async open(): Promise<void> {
    const mode = this.#opened++ % 2 === 0 ? "MAPPED" : "FILE_CHANNEL";
    const { visibility, format: recordFormat } = this;
    const options = {
      mode,
      recordFormat,
      visibility,
      segmentBytes: 4096,
      indexIntervalBytes: 256,
      diskReserveBytes: 0,
    } as const;
    this.log = await openLog(this.#dir, options);
    expect(this.log.logEndOffset).toBe(this.expected.length);
    expect(this.log.durableOffset).toBe(this.expected.length);
  }

  append(sizes: readonly number[], ack: "forced" | "written"): void {
    const base = this.expected.length;
    const records = sizes.map((size, i) => new Uint8Array(size).map((_, at) => (base + i + at) * 31));
    this.expected.push(...records);
    const { log } = this;
    this.#pending.push(
      log.appendBatch(records, { ack }).then((first) => {
        expect(first).toBe(base);
        if (ack === "forced") expect(log.durableOffset).toBeGreaterThanOrEqual(base + records.length);
      }),
    );
  }

  async wait(): Promise<void> {
    await Promise.all(this.#pending.splice(0));
  }

  async read(at: number, maxBytes: number): Promise<void> {
    const { log } = this;
    const ceiling = log.highWatermark;
    const from = Math.floor(at * ceiling);
    const { records, nextOffset } = await log.read(from, { maxBytes });
    expect(nextOffset).toBe(from + records.length);
    if (from < ceiling) expect(records.length).toBeGreaterThan(0);
    for (const [i, { offset, payload }] of records.entries()) {
      expect(offset).toBe(from + i);
      expect(Buffer.compare(payload, this.expected[from + i] as Uint8Array)).toBe(0);
    }
  }

  async close(): Promise<void> {
    await this.log.close();
    await this.wait();
  }
}

it("C1 C2 whatever a program does, the log holds what it appended, in its order, and nothing else", async () => {
  const seed = printedSeed("embedded log");
  const property = fc.asyncProperty(program, async ({ format, visibility, steps }) => {
    const play = new Play(format, visibility);
    await play.open();
    for (const each of steps) {
      if (each.do === "append") play.append(each.sizes, each.ack);
      else if (each.do === "wait") await play.wait();
      else if (each.do === "read") await play.read(each.at, each.maxBytes);
      else if (each.do === "force") expect(await play.log.force()).toBe(play.expected.length);
      else {
        await play.close();
        await play.open();
      }
    }
    await play.wait();
    await play.log.force();
    const all = await collect(play.log);
    expect(all.length).toBe(play.expected.length);
    for (const [n, { payload }] of all.entries())
      expect(Buffer.compare(payload, play.expected[n] as Uint8Array)).toBe(0);
    await play.close();
  });
  await fc.assert(property, { seed, numRuns: 25, interruptAfterTimeLimit: 60_000 });
}, 120_000);
