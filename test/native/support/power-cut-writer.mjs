// Appends, forces, seals and removes segments on both paths in both formats until it is killed. Each line it prints is a promise
// about what a cut of power must leave: `name end sum-of-the-first-end-bytes sealed|forced`, or `name removed`.
//
//   node power-cut-writer.mjs DIR SEED [lying]
//
// Lying, it promises what it has only written: then a cut must be able to break a promise, or the disk is no good.

import { writeSync } from "node:fs";
import { join } from "node:path";
import { native } from "./addon.mjs";

const [dir, seed, lying] = process.argv.slice(2);
const CAPACITY = 6 << 20;
/** Small groups in a row, for which blocks are prepared; middle ones; now and then a large one with pages populated ahead. */
const styles = [
  { bytes: () => 60, ahead: 0 },
  { bytes: () => 3000, ahead: 0 },
  { bytes: (random) => (random() < 0.1 ? 200_000 : 500), ahead: 2 << 20 },
  { bytes: (random) => (random() < 0.1 ? 200_000 : 500), filled: 1 << 20 },
];

let state = Number(seed);
function random() {
  state = (state * 1103515245 + 12345) & 0x7fffffff;
  return state / 0x7fffffff;
}

function region(style) {
  const sizes = Array.from(
    { length: 1 + Math.floor(random() * 5) },
    () => 1 + Math.floor(random() * style.bytes(random)),
  );
  const bytes = Buffer.alloc(sizes.reduce((sum, size) => sum + 4 + size, 0));
  let at = 0;
  for (const size of sizes) {
    bytes.writeInt32BE(size, at);
    bytes.fill(1 + Math.floor(random() * 250), at + 4, at + 4 + size);
    at += 4 + size;
  }
  return { bytes, records: sizes.length };
}

function promise(writer, name, end, what) {
  const bytes = new Uint8Array(end);
  writer.file.read(bytes, 0);
  writeSync(1, `${name} ${end} ${native.crc32c(bytes)} ${what}\n`);
}

async function partition(mode, format) {
  const table = new Int32Array(8);
  const index = new Uint32Array(3000);
  for (let number = 0; ; number++) {
    const name = `${mode}-${format}-${number}`;
    const path = join(dir, `${name}.tmp`);
    const style = styles[Math.floor(random() * styles.length)];
    // One that is filled in front of its end is forced by its first barrier, not when it is made.
    const made = style.filled ? { reserve: 0, forceLater: true } : { reserve: CAPACITY };
    const options = { path, mode, format, capacity: CAPACITY, indexIntervalBytes: 4096, ...made };
    const writer = await native.createSegmentWriter(options);
    await writer.rename(join(dir, name));
    await native.syncDirectory(dir);
    for (let full = false; !full && random() > 0.01; ) {
      for (let batch = 0; batch < 1 + random() * 3 && !full; batch++) {
        const { bytes, records } = region(style);
        const fits = () => writer.reserved - writer.end >= bytes.length + 4 * records;
        while (!fits() && writer.reserved < CAPACITY) await writer.reserve(writer.end + style.filled, true);
        table.set([writer.id, 0, 0, bytes.length, records]);
        native.append(table, 1, [bytes], index);
        full = table[5] !== 0;
      }
      if (style.ahead > 0) writer.populate(writer.end + style.ahead);
      if (lying) await new Promise((resolve) => setImmediate(resolve));
      promise(writer, name, lying ? writer.end : await writer.barrier(), "forced");
    }
    promise(writer, name, await writer.seal(), "sealed");
    writer.file.close();
    if (number < 4) continue;
    const oldest = `${mode}-${format}-${number - 4}`;
    writeSync(1, `${oldest} removed\n`);
    await native.unlinkFile(join(dir, oldest));
  }
}

await Promise.all([partition(1, 1), partition(0, 1), partition(1, 0), partition(0, 0)]);
