// Objects that are dropped in every state, and the collector called after: run with --expose-gc. Prints what it found.

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { native } from "./addon.mjs";

const dir = process.argv[2];
const capacity = 4 << 20;
const record = Buffer.from([0, 0, 0, 3, 97, 98, 99]);
const table = new Int32Array(8);
const index = new Uint32Array(30);

const collected = [];
const registry = new FinalizationRegistry((name) => collected.push(name));

async function make(name, mode) {
  const path = join(dir, name);
  const writer = await native.createSegmentWriter({
    path,
    mode,
    format: 0,
    capacity,
    indexIntervalBytes: 4096,
    reserve: capacity,
  });
  table.set([writer.id, 0, 0, record.length, 1]);
  native.append(table, 1, [record], index);
  registry.register(writer, name);
  return writer;
}

async function makeAndSeal(name, mode) {
  const sealing = await make(name, mode);
  forced.push(sealing.seal());
}

async function collect(rounds) {
  for (let i = 0; i < rounds; i++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const forced = [];
async function forgetInEveryState() {
  for (const mode of [0, 1]) {
    await make(`open-${mode}`, mode);
    const busy = await make(`busy-${mode}`, mode);
    busy.populate(capacity);
    forced.push(busy.barrier(), busy.file.scan(0, 0, capacity, 4096), busy.reserve(capacity));
    await makeAndSeal(`sealing-${mode}`, mode);
    await collect(3); // while the seal is under way
    const sealed = await make(`sealed-${mode}`, mode);
    await sealed.seal();
    const closed = await make(`closed-${mode}`, mode);
    await closed.close();
    closed.file.close();
  }
  native.lockFile(join(dir, ".lock"));
}

await forgetInEveryState();
await collect(20);
await Promise.all(forced);
const released = (() => {
  try {
    native.lockFile(join(dir, ".lock")).release();
    return true;
  } catch {
    return false;
  }
})();
const sizes = Object.fromEntries(
  ["open-0", "open-1", "busy-0", "busy-1", "sealing-0", "sealing-1"].map((name) => [
    name,
    statSync(join(dir, name)).size,
  ]),
);
const heads = Object.keys(sizes).every((name) => readFileSync(join(dir, name)).subarray(0, 7).equals(record));
console.log(JSON.stringify({ collected: collected.length, sizes, heads, released }));
