// A worker_thread or a process in the middle of everything: segments on both paths with barriers, reservations, scans and
// reads under way. It says so once and goes on until it is ended, or for `rounds` of it.

import { join } from "node:path";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { native } from "./addon.mjs";

const { dir, name, rounds } = isMainThread
  ? { dir: process.argv[2], name: process.argv[3], rounds: Number(process.argv[4] ?? 0) }
  : workerData;

const record = Buffer.concat([Buffer.from([0, 0, 16, 0]), Buffer.alloc(4096, "x")]);
const table = new Int32Array(8);
const index = new Uint32Array(300);

async function oneOf(mode, number) {
  const path = join(dir, `${name}-${number}.log`);
  const capacity = 4 << 20;
  const writer = await native.createSegmentWriter({
    path,
    mode,
    format: 1,
    capacity,
    indexIntervalBytes: 4096,
    reserve: capacity / 4,
  });
  const under = [];
  for (let i = 0; i < 40; i++) {
    table.set([writer.id, 0, 0, record.length, 1]);
    native.append(table, 1, [record], index);
    under.push(writer.barrier(), writer.file.readAsync(new Uint8Array(100), 0), writer.file.scan(1, 0, capacity, 4096));
    if (i === 10) under.push(writer.reserve(capacity));
    writer.populate(capacity);
  }
  if (number === 0) started();
  await Promise.all(under);
  await writer.seal();
  writer.file.close();
  await native.unlinkFile(path);
}

function started() {
  if (isMainThread) console.log("busy");
  else parentPort.postMessage("busy");
}

for (let round = 0; rounds === 0 || round < rounds; round++) {
  await Promise.all([oneOf(1, 2 * round), oneOf(0, 2 * round + 1)]);
}
