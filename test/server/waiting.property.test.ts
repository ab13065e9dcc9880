// Random programs against a real broker over real sockets, in real time: fetches of both kinds wait while records come, waits
// expire, clients go away, segments roll, retention takes them, and the broker stops. Each request that was sent on a connection
// that stays is answered exactly once, in order, with the records that belong there, none early and none late.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type RunningBroker, startBroker } from "../../src/ops/start-broker.js";
import { testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { printedSeed, randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";
import { sleep, until } from "../support/waiting.js";
import {
  multiFetch,
  produce,
  type Response,
  readFetched,
  readMultiFetched,
  readProduced,
  readStored,
  Wire,
  waitingFetch,
} from "../support/wire.js";

const seed = printedSeed("waiting on the wire");
const PARTITIONS = 3;
/** What a machine with other things to do may take longer. */
/** A few rounds of the event loop. */
const ARRIVAL_MS = 30;
const SLACK_MS = 5_000;
const FOREVER_MS = 60_000;
const OUT_OF_RANGE = 2;
const SHUTTING_DOWN = 9;

interface Asked {
  readonly correlation: number;
  readonly multi: boolean;
  readonly positions: readonly { readonly partition: number; readonly offset: number; readonly maxBytes: number }[];
  readonly minBytes: number;
  readonly minRecords: number;
  readonly maxWaitMs: number;
  readonly sentAt: number;
}

/** One partition's answer, of either kind of fetch. */
interface Part {
  readonly partition: number;
  readonly offset: number;
  readonly maxBytes: number;
  readonly error: number;
  readonly highWatermark: number;
  readonly payload: Uint8Array;
}

/** Record `offset` of a partition: it says which it is. */
const record = (partition: number, offset: number): Uint8Array =>
  ascii(`${partition}/${offset}/`.padEnd(20 + ((offset * 37) % 700), "."));

class Reader {
  readonly open: Asked[] = [];
  answered = 0;
  /** When the last answer came: whatever stood behind it could not be answered before. */
  lastAt = 0;
  /** Destroyed by the program: what is open then is answered to nobody. */
  gone = false;
  readonly ended: Promise<void>;

  constructor(
    readonly wire: Wire,
    check: (asked: Asked, response: Response, nextSince: number) => void,
  ) {
    this.ended = (async () => {
      for (;;) {
        let response: Response;
        try {
          response = await wire.response();
        } catch {
          return;
        }
        const asked = this.open.shift();
        if (asked === undefined) throw new Error("an answer that nobody asked for");
        this.answered++;
        check(asked, response, this.lastAt);
        this.lastAt = performance.now();
      }
    })();
    // Looked at when the program has ended.
    this.ended.catch(() => undefined);
  }
}

class Program {
  readonly readers: Reader[] = [];
  private readonly all: Reader[] = [];
  private readonly ends = new Array<number>(PARTITIONS).fill(0);
  private readonly random: () => number;
  private correlation = 0;
  private stopping = false;

  private constructor(
    readonly broker: RunningBroker,
    private readonly dir: string,
    private readonly producer: Wire,
    programSeed: number,
  ) {
    this.random = randomFrom(programSeed);
  }

  static async start(programSeed: number): Promise<Program> {
    const dir = tempDir("waiting");
    const random = randomFrom(~programSeed);
    const broker = await startBroker({
      settings: {
        ...testSettings(dir),
        topics: `orders:${PARTITIONS}`,
        "segment.bytes": "8KiB",
        "max.frame.bytes": "4KiB",
        "index.interval.bytes": 256,
        "retention.bytes": random() < 0.5 ? 8_000 : "none",
        "retention.check.ms": "15ms",
        "segment.roll.ms": random() < 0.5 ? "120ms" : "none",
        visibility: random() < 0.3 ? "durable" : "written",
      },
    });
    return new Program(broker, dir, await Wire.connect(broker.port), programSeed);
  }

  private int(below: number): number {
    return Math.floor(this.random() * below);
  }

  private pick<T>(...choices: readonly T[]): T {
    return choices[this.int(choices.length)];
  }

  async connect(): Promise<void> {
    const reader: Reader = new Reader(await Wire.connect(this.broker.port), (asked, response, since) =>
      this.check(asked, response, since),
    );
    this.readers.push(reader);
    this.all.push(reader);
  }

  async step(): Promise<void> {
    const dice = this.random();
    if (this.readers.length < 3 || dice < 0.04) await this.connect();
    else if (dice < 0.08) this.disconnect();
    else if (dice < 0.55) this.fetch();
    else if (dice < 0.9) await this.publish();
    else await sleep(this.int(40));
  }

  private disconnect(): void {
    const [reader] = this.readers.splice(this.int(this.readers.length), 1);
    reader.gone = true;
    if (this.random() < 0.5) reader.wire.destroy();
    else reader.wire.socket.resetAndDestroy();
  }

  private fetch(): void {
    const reader = this.readers[this.int(this.readers.length)];
    const multi = this.random() < 0.5;
    const first = this.int(PARTITIONS);
    const count = multi ? 1 + this.int(PARTITIONS) : 1;
    const positions = Array.from({ length: count }, (_, i) => {
      const partition = (first + i) % PARTITIONS;
      // Mostly at the end; also a little before it, and now and then where nothing is any more, or not yet.
      const offset = Math.max(0, this.ends[partition] + this.pick(0, 0, 0, 0, 0, 0, -1, -5, -40, 1));
      return { partition, offset, maxBytes: this.pick(1 << 20, 1 << 20, 3_000, 50) };
    });
    const minBytes = this.pick(0, 1, 1, 500, 2_000);
    const minRecords = multi ? this.pick(0, 0, 1, 3, 8) : 0;
    const maxWaitMs = this.pick(0, 5, 60, 250, FOREVER_MS);
    const correlation = this.correlation++;
    reader.open.push({ correlation, multi, positions, minBytes, minRecords, maxWaitMs, sentAt: performance.now() });
    if (multi) {
      reader.wire.send(multiFetch(positions, { correlation, minBytes, minRecords, maxWaitMs }));
    } else {
      const [{ partition, offset, maxBytes }] = positions;
      const wanted = { partition, correlation, maxWaitMs, minBytes: Math.min(minBytes, maxBytes), maxBytes };
      reader.wire.send(waitingFetch(offset, wanted));
    }
  }

  async publish(partition = this.int(PARTITIONS), count = this.pick(1, 1, 1, 2, 5)): Promise<void> {
    const from = this.ends[partition];
    const records = Array.from({ length: count }, (_, i) => record(partition, from + i));
    this.ends[partition] += count;
    const response = await this.producer.ask(produce(records, { partition, ack: this.pick(1, 1, 2) }));
    if (response.error !== 0 || readProduced(response).base !== from)
      throw new Error(`a produce failed: ${response.error}`);
  }

  private check(asked: Asked, response: Response, nextSince: number): void {
    const now = performance.now();
    const what = `MILLRACE_SEED=${seed}: ${JSON.stringify(asked)}`;
    expect(response.correlation, what).toBe(asked.correlation);
    if (this.stopping && response.error === SHUTTING_DOWN) return;
    const parts = this.parts(asked, response);
    for (const part of parts) this.checkRecords(part, what);
    const waited = now - asked.sentAt;
    const late = now - Math.max(asked.sentAt + asked.maxWaitMs, nextSince);
    expect(late, `late by ${late} ms: ${what}`).toBeLessThan(SLACK_MS);
    const early = waited < asked.maxWaitMs && !this.stopping && !this.enough(asked, parts);
    expect(
      early,
      `early, after ${waited} ms: ${what} ${JSON.stringify(parts.map(({ payload, ...rest }) => [rest, payload.length]))}`,
    ).toBe(false);
  }

  private parts({ multi, positions }: Asked, response: Response): Part[] {
    if (!multi && response.error !== 0) {
      return [{ ...positions[0], error: response.error, highWatermark: 0, payload: new Uint8Array(0) }];
    }
    expect(response.error).toBe(0);
    const got = multi
      ? readMultiFetched(response)
      : [{ ...readFetched(response), error: 0, partition: positions[0].partition }];
    expect(got.map(({ partition }) => partition)).toEqual(positions.map(({ partition }) => partition));
    return got.map(({ error, highWatermark, payload }, i) => ({ ...positions[i], error, highWatermark, payload }));
  }

  private checkRecords({ partition, offset, error, payload, maxBytes }: Part, what: string): void {
    expect([0, OUT_OF_RANGE], what).toContain(error);
    expect(payload.length, what).toBeLessThanOrEqual(maxBytes);
    const { payloads } = readStored(payload);
    for (const [i, got] of payloads.entries()) {
      if (Buffer.compare(got, record(partition, offset + i)) !== 0)
        throw new Error(`not record ${offset + i}: ${what}`);
    }
  }

  /** Whether something of what the protocol names has ended the wait before its deadline. */
  private enough({ minBytes, minRecords, positions }: Asked, parts: readonly Part[]): boolean {
    if (parts.some(({ error }) => error !== 0)) return true;
    if (parts.some(({ payload, maxBytes }) => payload.length === maxBytes)) return true;
    if (positions.some(({ partition, offset }) => offset < this.activeBase(partition))) return true;
    const bytes = parts.reduce((sum, { payload }) => sum + payload.length, 0);
    const records = parts.reduce((sum, { offset, highWatermark }) => sum + Math.max(0, highWatermark - offset), 0);
    return bytes >= Math.max(1, minBytes) && records >= minRecords;
  }

  /** As the disk says: a roll that has just happened is there already, and only makes this test more lenient. */
  private activeBase(partition: number): number {
    const names = readdirSync(join(this.dir, `orders-${partition}`)).filter((name) => name.endsWith(".log"));
    return Math.max(...names.map((name) => Number.parseInt(name, 10)));
  }

  /** Nothing may wait for ever: those who have a deadline have passed it, and all others get more than they asked for. */
  async endByPublishing(): Promise<void> {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      for (let i = 0; i < 12; i++) await this.publish(partition, 3);
    }
    await until("all fetches are answered", () => this.readers.every(({ open }) => open.length === 0), 250 + SLACK_MS);
    for (const { wire } of this.readers) expect(wire.buffered).toBe(0);
    expect(this.broker.statistics().fetchesWaiting).toBe(0);
  }

  async endByStopping(): Promise<void> {
    // Those of readers that are gone are counted as well, so the count alone does not say that the last one has come. The
    // broker is in this process: what was sent has been taken in after a few rounds of the event loop.
    await until("all fetches have arrived", () => this.broker.statistics().fetchRequests >= this.arrivals());
    await sleep(ARRIVAL_MS);
    const before = performance.now();
    this.stopping = true;
    const clean = this.broker.stop();
    await Promise.all(this.readers.map(({ ended }) => ended));
    expect(await clean).toBe(true);
    expect(performance.now() - before).toBeLessThan(SLACK_MS);
    for (const { open } of this.readers) expect(open).toEqual([]);
  }

  private arrivals(): number {
    return this.readers.reduce((sum, { answered, open }) => sum + answered + open.length, 0);
  }

  async finish(): Promise<void> {
    for (const { wire } of this.all) wire.destroy();
    this.producer.destroy();
    // What a check has thrown is thrown here.
    await Promise.all(this.all.map(({ ended }) => ended));
    if (!this.stopping) {
      await until("those who left are forgotten", () => this.broker.statistics().connections === 0);
      expect(this.broker.statistics().fetchesWaiting).toBe(0);
    }
    const { fetchesParked, fetchesExpired, fetchesWoken } = this.broker.statistics();
    expect(fetchesExpired + fetchesWoken).toBeLessThanOrEqual(fetchesParked);
    expect(await this.broker.stop()).toBe(true);
  }
}

describe("random interleavings of what can happen to waiting fetches", () => {
  it.each([0, 1, 2, 3, 4, 5])(
    "answer each exactly once, none early and none late (%i)",
    async (round) => {
      const program = await Program.start(seed + round);
      try {
        for (let i = 0; i < 300; i++) await program.step();
        if (round % 2 === 0) await program.endByPublishing();
        else await program.endByStopping();
      } finally {
        await program.finish();
      }
    },
    60_000,
  );
});
