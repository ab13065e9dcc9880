// A crowd of clients in a process of its own, so that what it costs to be many is not counted as the broker's. It plays one thing, says `ready` when that has begun, and
// `done N` at its end. What plays until it is told ends when its stdin does.

import { connect, type Socket } from "node:net";
import { Random } from "../../../lib/random.js";
import type { CrowdJob, Play } from "../crowd.js";
import { BAD_LENGTH, fetchFrame, metadataFrame, produceFrame } from "../frames.js";

const job = JSON.parse(process.argv[2]) as CrowdJob;
const random = new Random(job.seed);
/** Connects that are under way at once: the listener's queue is no longer. */
const AT_ONCE = 100;
const BYTE_EVERY_MS = 10;
const NEXT_REQUEST_MS = 200;

let over = false;
const told = new Promise<void>((resolve) => {
  process.stdin.on("end", () => {
    over = true;
    resolve();
  });
  process.stdin.resume();
});

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves undefined when it is refused. */
function open(allowHalfOpen = false): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port: job.port, host: "127.0.0.1", allowHalfOpen, noDelay: true });
    socket.once("connect", () => resolve(socket));
    socket.on("error", () => resolve(undefined));
    socket.once("close", () => resolve(undefined));
  });
}

/** All of them, so many at a time. */
async function openAll(count: number, each: (socket: Socket) => void): Promise<number> {
  let left = count;
  let opened = 0;
  const one = async (): Promise<void> => {
    while (left-- > 0 && !over) {
      const socket = await open();
      if (socket === undefined) continue;
      opened++;
      each(socket);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return opened;
}

/** Three hundred requests of each, and no answer is taken; every second some more come. */
async function unread(asks: Buffer): Promise<number> {
  let asked = 0;
  const begin = (socket: Socket): void => {
    socket.pause();
    socket.write(asks);
    asked++;
  };
  process.stdout.write(`ready ${await openAll(job.count, begin)}\n`);
  while (!over) {
    await Promise.race([told, sleep(1000)]);
    if (!over) await openAll(Math.ceil(job.count / 20), begin);
  }
  return asked;
}

const many = (ask: (at: number) => Buffer): Buffer => Buffer.concat(Array.from({ length: 300 }, (_, at) => ask(at)));

const plays: Readonly<Record<Play, () => Promise<number>>> = {
  /** Each asks now and then, or waits for records. */
  async hold() {
    let answered = 0;
    const sockets: Socket[] = [];
    const opened = await openAll(job.count, (socket) => {
      sockets.push(socket);
      socket.once("data", () => answered++);
      socket.resume();
      socket.write(random.chance(0.5) ? metadataFrame(1) : fetchFrame(0, { maxWaitMs: 60_000, minBytes: 1 << 30 }));
    });
    process.stdout.write(`ready ${opened}\n`);
    while (!over) {
      await Promise.race([told, sleep(NEXT_REQUEST_MS)]);
      for (let at = 0; at < 50 && sockets.length > 0; at++) random.pick(sockets).write(metadataFrame(2));
    }
    return answered;
  },

  async "slow writers"() {
    let sent = 0;
    const writers: { socket: Socket; bytes: Uint8Array; at: number }[] = [];
    const opened = await openAll(job.count, (socket) => {
      socket.resume();
      writers.push({ socket, bytes: produceFrame(random.int(1, 4), 300), at: 0 });
    });
    process.stdout.write(`ready ${opened}\n`);
    while (!over) {
      await sleep(BYTE_EVERY_MS);
      for (const writer of writers) {
        if (writer.socket.destroyed) continue;
        writer.socket.write(writer.bytes.subarray(writer.at, writer.at + 1));
        writer.at = (writer.at + 1) % writer.bytes.length;
        sent++;
      }
    }
    return sent;
  },

  /** They ask for everything, again and again, and take no answer. The broker closes them; others come. */
  async "slow readers"() {
    let asked = 0;
    const begin = (socket: Socket): void => {
      socket.pause();
      for (let at = 0; at < 200; at++) socket.write(at % 2 === 0 ? fetchFrame(0) : metadataFrame(at));
      asked += 200;
    };
    const opened = await openAll(job.count, begin);
    process.stdout.write(`ready ${opened}\n`);
    while (!over) {
      await Promise.race([told, sleep(1000)]);
      if (!over) await openAll(Math.ceil(job.count / 20), begin);
    }
    return asked;
  },

  "unread descriptions": () => unread(many((at) => metadataFrame(at, 2))),
  "unread fetches": () => unread(many(() => fetchFrame(0))),
  "unread waits": () => unread(many((at) => fetchFrame(0, at === 0 ? { maxWaitMs: 60_000, minBytes: 1 << 30 } : {}))),

  /** Half a frame and nothing more, the end of what they send, or no length at all. */
  async "half open"() {
    let opened = 0;
    while (!over) {
      for (let at = 0; at < 20 && !over; at++) {
        const socket = await open(true);
        if (socket === undefined) continue;
        if (++opened === job.count) process.stdout.write(`ready ${opened}\n`);
        socket.resume();
        const manner = random.int(0, 4);
        if (manner === 0) socket.write(produceFrame(3, 1000).subarray(0, random.int(1, 1000)));
        else if (manner === 1) socket.end(fetchFrame(0, { maxWaitMs: 500, minBytes: 1 << 30 }));
        else if (manner === 2) socket.write(BAD_LENGTH);
      }
      await sleep(50);
    }
    return opened;
  },

  /** All at once, and away. */
  async storm() {
    process.stdout.write("ready 0\n");
    let opened = 0;
    for (let round = 0; round < job.count && !over; round++) {
      const sockets = await Promise.all(Array.from({ length: 500 }, () => open()));
      for (const socket of sockets) {
        if (socket === undefined) continue;
        opened++;
        if (random.chance(0.5)) socket.resetAndDestroy();
        else socket.destroy();
      }
      await sleep(20);
    }
    return opened;
  },

  /** Opens and drops, one after the other, some in the middle of a request. */
  async drops() {
    process.stdout.write("ready 0\n");
    let dropped = 0;
    const one = async (): Promise<void> => {
      while (dropped < job.count && !over) {
        dropped++;
        const socket = await open();
        if (socket === undefined) continue;
        const manner = random.int(0, 4);
        if (manner === 0) socket.write(produceFrame(2, 100));
        if (manner === 1) socket.write(fetchFrame(0, { maxWaitMs: 60_000, minBytes: 1 << 30 }));
        if (manner === 2) socket.write(produceFrame(2, 100).subarray(0, 30));
        if (random.chance(0.3)) socket.resetAndDestroy();
        else socket.destroy();
      }
    };
    await Promise.all(Array.from({ length: 8 }, one));
    return dropped;
  },
};

process.on("uncaughtException", (error: NodeJS.ErrnoException) => {
  // Who is reset while it writes.
  if (error.code === undefined) throw error;
});
const done = await plays[job.play]();
process.stdout.write(`done ${done}\n`);
process.exit();
