// What few clients can show, each by itself, before there are crowds: the clocks that end connections, what may wait to be sent on one of them, and large frames
// that wait for each other.

import { connect, type Socket } from "node:net";
import { BrokerProcess, type Settings } from "../../lib/broker-process.js";
import { sleep } from "../../lib/history/worker.js";
import type { Stage } from "../../lib/rung.js";
import { PROBE_TOPIC } from "./bystander.js";
import { BAD_LENGTH, fetchFrame, helloFrame, metadataFrame, multiFetchFrame, produceFrame } from "./frames.js";
import { sampleOf } from "./sample.js";
import { PARTITIONS, WIDE, wideTopics } from "./unread.js";

const KiB = 1024;
/** Beyond its clock: sweeps are a second apart, and a busy machine makes more of them. */
const LATE_MS = 12_000;
const STALL_MS = 5_000;
/** Those who take nothing are looked at before they are closed. */
const LOOKS_MS = STALL_MS - 1_000;
const LOOKS_EVERY_MS = 100;
const CONNECTION_QUEUED_BYTES = 256 * KiB;
/** An answer and a turn's worth may come on top. */
const ON_TOP_BYTES = 256 * KiB;
const ANSWERED_MS = 15_000;

const clockSettings = {
  topics: wideTopics,
  "segment.bytes": "1MiB",
  "frame.timeout.ms": "1s",
  "connection.idle.ms": "2s",
  "connection.write.stall.ms": STALL_MS,
  "max.frame.bytes": CONNECTION_QUEUED_BYTES,
  "connection.queued.bytes.max": CONNECTION_QUEUED_BYTES,
} as const;
/** Three quarters of the bound are eight such frames, and none of them is whole. */
const gatherSettings = {
  "frame.timeout.ms": "60s",
  "max.frame.bytes": "256KiB",
  "connection.queued.bytes.max": "256KiB",
  "queued.bytes.max": "1MiB",
} as const;
const GATHERERS = 24;
const GATHERED_BYTES = 200 * KiB;

type Fail = (what: string) => void;

export async function few(
  stage: Stage,
  settings: Settings,
  dirs: readonly [string, string],
  fail: Fail,
): Promise<void> {
  await withBroker(stage, { ...settings, ...clockSettings, "data.dir": dirs[0] }, (broker) => clocks(broker, fail));
  await withBroker(stage, { ...settings, ...gatherSettings, "data.dir": dirs[1] }, (broker) => gathers(broker, fail));
}

async function withBroker(
  { product }: Stage,
  settings: Settings,
  play: (broker: BrokerProcess) => Promise<void>,
): Promise<void> {
  const broker = await BrokerProcess.start(product, settings);
  try {
    await play(broker);
    await broker.stop();
  } finally {
    if (broker.ended === undefined) await broker.kill();
  }
}

class Client {
  /** By the broker: its end has come, or a reset. */
  closed = false;
  received = 0;

  private constructor(readonly socket: Socket) {
    socket.on("error", () => undefined);
    for (const end of ["end", "close"]) {
      socket.once(end, () => {
        this.closed = true;
      });
    }
    socket.on("data", ({ length }) => {
      this.received += length;
    });
  }

  static connect(port: number): Promise<Client> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
      const client = new Client(socket);
      socket.once("connect", () => resolve(client));
      socket.once("error", reject);
    });
  }

  /** Sends it over and over, as fast as it is taken, and takes nothing. */
  flood(bytes: Buffer): void {
    this.socket.pause();
    const some = (): void => {
      while (!this.closed && this.socket.write(bytes));
    };
    this.socket.on("drain", some);
    some();
  }
}

async function clocks(broker: BrokerProcess, fail: Fail): Promise<void> {
  const { port } = broker;
  const client = (): Promise<Client> => Client.connect(port);
  const waiting = await client();
  waiting.socket.write(fetchFrame(0, { topic: PROBE_TOPIC, maxWaitMs: 60_000, minBytes: 1 }));
  const half = await client();
  half.socket.write(produceFrame(3, 300).subarray(0, 500));
  const slow = await client();
  const bytes = produceFrame(3, 1000);
  let at = 0;
  const byByte = setInterval(() => slow.closed || slow.socket.write(bytes.subarray(at++, at)), 100);
  const idle = await client();
  idle.socket.write(metadataFrame(1));
  const staying = await Promise.all([client(), client(), client(), client(), client()]);
  for (const { socket } of staying) socket.write(BAD_LENGTH);
  const asks = [helloFrame(), produceFrame(1, 1), metadataFrame(3, 2), multiFetchFrame(WIDE, PARTITIONS)];
  const taking = await Promise.all(asks.map(client));
  for (const [i, each] of taking.entries()) each.flood(Buffer.concat(Array.from({ length: 50 }, () => asks[i])));

  const began = performance.now();
  const most = taking.length * (CONNECTION_QUEUED_BYTES + ON_TOP_BYTES);
  let queued = 0;
  while (performance.now() - began < LOOKS_MS) {
    queued = Math.max(queued, (await sampleOf(broker, 0)).queuedBytes);
    await sleep(LOOKS_EVERY_MS);
  }
  if (queued > most)
    fail(`for ${taking.length} clients that take nothing ${queued} bytes were queued, and ${most} may be`);
  const left = async (): Promise<number> => (await sampleOf(broker, 0)).connections;
  const until = began + STALL_MS + LATE_MS;
  while ((await left()) > 1 && performance.now() < until) await sleep(LOOKS_EVERY_MS);
  clearInterval(byByte);
  const shown = { "half a frame": half, "a byte now and then": slow, "that asked once": idle };
  for (const [what, { closed }] of Object.entries(shown))
    if (!closed) fail(`a client with ${what} is not closed in time`);
  const there = await left();
  if (there > 1) {
    const who = `${taking.length} that take nothing and ${staying.length} that were refused and stay`;
    fail(`${there - 1} connections are still there, of ${who}`);
  }
  if (waiting.closed || there < 1) fail("a client that waits for records was closed as if it did nothing");
  for (const { socket } of [waiting, half, slow, idle, ...staying, ...taking]) socket.destroy();
}

/** More of them than there is room for, each sent in two parts: one after the other is let in, and none waits for ever. */
async function gathers({ port }: BrokerProcess, fail: Fail): Promise<void> {
  const frame = produceFrame(1, GATHERED_BYTES);
  const clients = await Promise.all(Array.from({ length: GATHERERS }, () => Client.connect(port)));
  for (const { socket } of clients) socket.write(frame.subarray(0, GATHERED_BYTES / 2));
  await sleep(500);
  for (const { socket } of clients) socket.write(frame.subarray(GATHERED_BYTES / 2));
  const until = performance.now() + ANSWERED_MS;
  const answered = (): number => clients.filter(({ received }) => received > 0).length;
  while (answered() < GATHERERS && performance.now() < until) await sleep(LOOKS_EVERY_MS);
  if (answered() < GATHERERS) fail(`of ${GATHERERS} large frames in two parts ${answered()} were answered`);
  for (const { socket } of clients) socket.destroy();
}
