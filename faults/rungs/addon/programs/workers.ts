// worker_threads that come, use everything and go: some end by themselves, most are terminated in the middle of barriers, reads, scans, reservations and turns of a
// selector with connections. The main thread uses the addon meanwhile, and must not notice. Descriptors, threads and memory come back.

import { once } from "node:events";
import { connect } from "node:net";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { NativeAddon } from "../../../../src/native/binding.js";
import { Random } from "../../../lib/random.js";
import { descriptors, eventually, threads } from "../environment.js";
import { type Job, jobOf, loadAddon, Notes, tell } from "../job.js";
import { append, holds, region, selectorOptionsOf, writerOptions } from "../surface.js";

const AT_ONCE = 4;
/** Until it is terminated, in milliseconds behind its first calls. */
const LIVES_MS = 40;
const ENDS_BY_ITSELF = 0.2;
/** What the process may have more than after the first workers: allocators keep what they got, and more of it the more threads there were. */
const MEMORY_GROWS_MAX = 96 * 1024 * 1024;
/** The main thread's pools get their threads when there is work for them: 8 for barriers, 4 for reads, 2 for maintenance. */
const THREADS_MORE_MAX = 14;
/** Node makes some when it first needs them. One for each worker would be a hundred. */
const DESCRIPTORS_MORE_MAX = 4;
const MEMORY_PATIENCE_MS = 3000;
const WARM_ROUNDS = 10;

interface Part extends Job {
  readonly name: string;
  readonly endsByItself: boolean;
}

/** What a worker does until it is ended. */
async function busy(part: Part): Promise<void> {
  const native = loadAddon(part);
  const random = new Random(part.seed);
  const selector = new native.Selector(selectorOptionsOf(random), (frames) => {
    if (frames > 0) selector.flush(0, []);
  });
  const port = selector.listen("127.0.0.1", 0);
  const sockets = Array.from({ length: 3 }, () => connect(port, "127.0.0.1").on("error", () => undefined));
  for (const socket of sockets) socket.write(region(5, 8));
  const lock = native.lockFile(`${part.directory}/${part.name}.lock`);
  for (let round = 0; ; round++) {
    const name = `${part.name}-${round % 2}`;
    const writer = await native.createSegmentWriter(writerOptions(part.directory, name, random.pick([0, 1] as const)));
    const under: Promise<unknown>[] = [];
    for (let at = 0; at < 20; at++) {
      append(native, writer);
      under.push(
        writer.barrier(),
        writer.file.readAsync(new Uint8Array(5000), 0),
        writer.file.scan(1, 0, 1 << 18, 4096),
      );
      if (at % 5 === 0) under.push(writer.reserve(1 << 20, at % 10 === 0));
      writer.populate(1 << 20);
    }
    if (round === 0) parentPort?.postMessage("busy");
    await Promise.all(under);
    await writer.seal();
    writer.file.close();
    await native.unlinkFile(`${part.directory}/${name}`);
    if (part.endsByItself && round > 0) break;
  }
  for (const socket of sockets) socket.destroy();
  void selector.finish(10);
  lock.release();
}

/** One after the other at a place, until the time is over. */
async function workersOf(job: Job, random: Random, notes: Notes, goesOn: () => boolean): Promise<void> {
  while (goesOn()) {
    const endsByItself = random.chance(ENDS_BY_ITSELF);
    const seed = random.int(0, 1e9);
    const part: Part = { ...job, seed, name: `worker-${seed}`, endsByItself };
    const worker = new Worker(new URL(import.meta.url), { workerData: part });
    const exit = once(worker, "exit");
    worker.on("error", (error) => notes.add(`a worker: ${String(error)}`));
    if (random.chance(0.8)) await Promise.race([once(worker, "message"), exit]);
    if (!endsByItself) {
      await new Promise((resolve) => setTimeout(resolve, random.next() * LIVES_MS));
      await worker.terminate();
    }
    const [code] = await exit;
    if (endsByItself && code !== 0) notes.add(`a worker that ends by itself ended with ${code}`);
    notes.count(endsByItself ? "workers that ended" : "workers that were terminated");
  }
}

async function mainThread(job: Job, native: NativeAddon, notes: Notes, goesOn: () => boolean): Promise<void> {
  const writer = await native.createSegmentWriter(writerOptions(job.directory, "main.log", 1, 32 << 20));
  await writer.reserve(32 << 20);
  let records = 0;
  for (; goesOn() && append(native, writer) === 0; records += 3) {
    if ((await writer.barrier()) !== writer.end) notes.add("a barrier of the main thread covered too little");
  }
  notes.count("barriers of the main thread", records / 3);
  if (!(await holds(native, writer.file, records))) notes.add("the main thread's records are not there");
  await writer.seal();
  writer.file.close();
}

async function play(job: Job): Promise<void> {
  const native = loadAddon(job);
  const notes = new Notes();
  const random = new Random(job.seed);
  const round = async (goesOn: () => boolean, label: string): Promise<void> => {
    const places = Array.from({ length: AT_ONCE }, (_, at) =>
      workersOf(job, random.fork(`${label} ${at}`), notes, goesOn),
    );
    await Promise.all([...places, mainThread(job, native, notes, goesOn)]);
    await native.unlinkFile(`${job.directory}/main.log`);
  };
  const began = performance.now();
  let warm = 0;
  await round(() => warm++ < WARM_ROUNDS, "warm");
  const settle = (measure: () => number): Promise<number> => eventually(measure, () => false, 300);
  const before = { descriptors: await settle(descriptors), threads: threads(), rss: process.memoryUsage.rss() };
  await round(() => performance.now() - began < job.seconds * 1000, "load");
  const after = {
    descriptors: await eventually(descriptors, (now) => now <= before.descriptors + DESCRIPTORS_MORE_MAX),
    threads: await eventually(threads, (now) => now <= before.threads + THREADS_MORE_MAX),
    rss: await eventually(process.memoryUsage.rss, (now) => now <= before.rss + MEMORY_GROWS_MAX, MEMORY_PATIENCE_MS),
  };
  if (
    after.descriptors > before.descriptors + DESCRIPTORS_MORE_MAX ||
    after.threads > before.threads + THREADS_MORE_MAX
  ) {
    notes.add(`before: ${JSON.stringify(before)}, after: ${JSON.stringify(after)}`);
  }
  // A sanitizer keeps what was let go of for a while, on purpose.
  const sanitized = process.env.LD_PRELOAD !== undefined;
  if (!sanitized && after.rss > before.rss + MEMORY_GROWS_MAX)
    notes.add(`memory grew from ${before.rss} to ${after.rss} bytes`);
  tell(notes);
}

if (isMainThread) await play(jobOf(process.argv[2]));
else await busy(workerData as Part);
