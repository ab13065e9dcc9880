// Clients that ask for far more than they read, so many that what is held for them would come to `queued.bytes.max`. They are not
// read on; where that does not help who takes nothing goes and who takes little stays, and others are kept for seconds and not
// until `connection.write.stall.ms`.

import { describe, expect, it, onTestFinished } from "vitest";
import { type BrokerProcess, connectTo, spawnReady, testSettings } from "../support/broker.js";
import { ascii, concat } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { sleep, timed, until } from "../support/waiting.js";
import {
  fetch,
  metadata,
  produce,
  readFetched,
  readProduced,
  readStored,
  type Wire,
  waitingFetch,
} from "../support/wire.js";

const KiB = 1024;
const MiB = 1024 * KiB;
/** Each asks for so much, more than the sockets between it and the broker take. */
const CLIENTS = 120;
const ASKS = 300;
/** Three seconds and what a busy machine adds; `connection.write.stall.ms` is thirty. */
const PAUSE_MS = 6_000;

const settings = {
  topics: "orders:1,honest:1,quiet:1",
  "queued.bytes.max": MiB,
  "connection.queued.bytes.max": 256 * KiB,
  "max.frame.bytes": 256 * KiB,
};

async function start(more = ""): Promise<BrokerProcess> {
  const topics = settings.topics + more;
  const broker = await spawnReady({ ...testSettings(tempDir("unread")), ...settings, topics });
  const writer = await connectTo(broker);
  for (let i = 0; i < 8; i++) await writer.ask(produce([new Uint8Array(200_000)]));
  writer.destroy();
  return broker;
}

/** Asks and takes nothing. */
async function unreading(broker: BrokerProcess, asks: Uint8Array): Promise<Wire> {
  const wire = await connectTo(broker);
  wire.socket.pause();
  wire.send(asks);
  return wire;
}

/** Somebody who appends a record and reads it back, all the while. */
class Honest {
  slowestMs = 0;
  rounds = 0;
  private going = true;
  private constructor(private readonly wire: Wire) {}

  static async beside(broker: BrokerProcess, others: () => Promise<void>): Promise<Honest> {
    const honest = new Honest(await connectTo(broker));
    const all = honest.goOn();
    await Promise.race([others(), all]);
    honest.going = false;
    await all;
    return honest;
  }

  private async goOn(): Promise<void> {
    while (this.going) {
      const record = ascii(`round ${this.rounds}`);
      const appended = await timed(this.wire.ask(produce([record], { topic: "honest" })));
      const { base } = readProduced(appended.value);
      const read = await timed(this.wire.ask(fetch(base, { topic: "honest" })));
      expect(readStored(readFetched(read.value).payload).payloads).toEqual([record]);
      this.slowestMs = Math.max(this.slowestMs, appended.ms, read.ms);
      this.rounds++;
      await sleep(10);
    }
  }
}

const many = (ask: (correlation: number) => Uint8Array): Uint8Array =>
  concat(...Array.from({ length: ASKS }, (_, i) => ask(i)));
const aFetch = (correlation: number): Uint8Array => fetch(0, { maxBytes: MiB, correlation });
/** Its answer takes more than thirty KiB of memory, where the bytes of a FETCH are a file's. */
const aDescription = (correlation: number): Uint8Array => metadata(["many"], 2, correlation);

const toldOf = (broker: BrokerProcess, kind: string): number =>
  broker.lines.reduce((sum, line) => sum + (line.kind === kind ? Number(line.times) : 0), 0);

describe.skipIf(process.platform !== "linux")(`${CLIENTS} clients that ask for much and read nothing`, () => {
  /** For longer than it takes to close them. */
  const WHILE_MS = 8_000;

  it.each([
    ["FETCH", many(aFetch)],
    ["FETCH behind one that waits", many((i) => (i === 0 ? waitingFetch(0, { topic: "quiet" }) : aFetch(i)))],
  ])(
    "%s: are not read on, and nobody else notices",
    async (_, asks) => {
      const broker = await start();
      const before = broker.sockets();
      const honest = await Honest.beside(broker, async () => {
        await Promise.all(Array.from({ length: CLIENTS }, () => unreading(broker, asks)));
        await sleep(WHILE_MS);
      });
      expect(honest.slowestMs).toBeLessThan(PAUSE_MS);
      expect(toldOf(broker, "connections.paused")).toBe(0);
      expect(broker.sockets()).toBeGreaterThanOrEqual(before + CLIENTS);
    },
    90_000,
  );

  it("METADATA: are closed when there is no other way, and the operator hears of it; one that reads slowly stays", async () => {
    const broker = await start(",many:1000");
    const slow = await connectTo(broker);
    slow.send(many(aDescription));
    slow.socket.pause();
    const sips = setInterval(() => slow.socket.read(64 * KiB), 250);
    onTestFinished(() => clearInterval(sips));
    const before = broker.sockets();
    // Few, since the sockets of each take some MiB before anything waits.
    const few = CLIENTS / 3;
    const honest = await Honest.beside(broker, async () => {
      await Promise.all(Array.from({ length: few }, () => unreading(broker, many(aDescription))));
      await until("some are closed", () => toldOf(broker, "connections.shed") > 0, 40_000);
      await sleep(1_000);
    });
    expect(honest.slowestMs).toBeLessThan(PAUSE_MS);
    expect(toldOf(broker, "connections.shed")).toBeGreaterThan(few / 4);
    expect(broker.sockets()).toBeLessThan(before + few);
    clearInterval(sips);
    slow.socket.resume();
    for (let i = 0; i < ASKS; i++) expect((await slow.response()).correlation).toBe(i);
  }, 60_000);
});
