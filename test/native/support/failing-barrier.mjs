// Appends and forces on the path given, under a tracer that makes barriers fail. Prints what each attempt came to.

import { join } from "node:path";
import { native } from "./addon.mjs";

const [dir, mode] = process.argv.slice(2);
native.configurePools({ barriers: 1 }); // the tracer counts calls thread by thread
const writer = await native.createSegmentWriter({
  path: join(dir, "a.log"),
  mode: Number(mode),
  format: 1,
  capacity: 1 << 20,
  indexIntervalBytes: 4096,
  reserve: 1 << 20,
});
const record = Buffer.from([0, 0, 0, 3, 97, 98, 99]);
const table = new Int32Array(8);

function append() {
  table.set([writer.id, 0, 0, record.length, 1]);
  native.append(table, 1, [record], new Uint32Array(3));
  return table[5] === 0 ? "OK" : `status ${table[5]} errno ${table[7]}`;
}
const tried = (promise) => promise.then(String, (error) => `${error.code} ${error.syscall}`);

const seen = [append(), await tried(writer.barrier()), append(), await tried(writer.barrier())];
seen.push(append());
seen.push(await tried(writer.barrier()));
const issued = native.barrierCount();
seen.push(await tried(writer.seal()), native.barrierCount() - issued, await tried(writer.close()));
console.log(JSON.stringify(seen));
