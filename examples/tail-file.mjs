// @ts-check
// Tails a log file into a topic: each line once, over rotations and restarts.
//
// Where the tailer stood in the file is part of what it writes: each record has the line, the file it came from and the position
// behind it. So there is no checkpoint that could differ from the log. A start reads the last record back, goes on behind it, and
// appends with expectedOffset, so that a second tailer on the same file, or a batch whose answer was lost, doubles nothing.
//
// Rotation is the usual one: app.log becomes app.log.1, that app.log.2, and so on, and a new app.log is begun. A file is known by
// its inode and the time it was made, whatever its name is now (inodes are used again). The tailer reads a file to its end and
// then the next newer one. Only when its file is gone altogether are lines lost, and it says so.
//
// Run: node examples/tail-file.mjs         Topics on a broker of your own: lines:1

import { appendFile, open, readdir, rename, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, json, MillraceError } from "millrace/client";
import { exampleBroker, inTemporaryDirectory, promise } from "./support.mjs";

/** @typedef {{ line: string, file: string, end: number }} Line which file, and the position behind the line */

const TOPIC = "lines";
const PARTITION = 0;
const BATCH_BYTES = 64 * 1024;

/** Reads whole lines of one file from a position on. */
class LineReader {
  /**
   * @param {import("node:fs/promises").FileHandle} handle
   * @param {string} file
   * @param {number} position
   */
  constructor(handle, file, position) {
    this.handle = handle;
    this.file = file;
    this.position = position;
  }

  /** The next whole lines; none when there are none yet. A line that is still being written waits for its end. */
  async next() {
    const buffer = Buffer.alloc(BATCH_BYTES);
    const { bytesRead } = await this.handle.read(buffer, 0, buffer.length, this.position);
    /** @type {Line[]} */
    const lines = [];
    let from = 0;
    for (let end = buffer.indexOf(10); end >= 0 && end < bytesRead; end = buffer.indexOf(10, from)) {
      if (end > from) {
        const line = buffer.toString("utf8", from, end);
        lines.push({ line, file: this.file, end: this.position + end + 1 });
      }
      from = end + 1;
    }
    if (from === 0 && bytesRead === buffer.length) throw new Error(`a line is longer than ${BATCH_BYTES} bytes`);
    this.position += from;
    return lines;
  }
}

/**
 * Tails until the signal ends it.
 *
 * @param {import("millrace/client").Client} client
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function tail(client, path, signal) {
  const lines = client.topic(TOPIC, { codec: /** @type {import("millrace/client").Codec<Line>} */ (json()) });
  let [{ offset: next }] = await client.offsetsAt(TOPIC, "latest");
  /** @type {Line | undefined} */
  let last;
  if (next > 0) for await (const { value } of lines.replay({ from: next - 1 }).records()) last = value;
  let reader = await openAt(path, last);
  for (; reader === undefined; reader = await openAt(path, last)) {
    if (signal.aborted) return;
    await pause(signal);
  }
  console.log(last === undefined ? "tailer: begins with the file" : `tailer: goes on behind "${last.line}"`);
  try {
    while (!signal.aborted) {
      const batch = await reader.next();
      if (batch.length > 0) {
        ({ nextOffset: next } = await lines.append(batch, { partition: PARTITION, expectedOffset: next }));
      } else if ((await fileAt(path)) !== reader.file) {
        // Renamed. What was written to it between the last look and the rename is still to be read: only an empty read after
        // the rename was seen ends it.
        const rest = await reader.next();
        if (rest.length > 0) {
          ({ nextOffset: next } = await lines.append(rest, { partition: PARTITION, expectedOffset: next }));
          continue;
        }
        const newer = await openNewer(path, reader.file);
        if (newer === undefined) {
          await pause(signal); // The new one is not there yet.
          continue;
        }
        console.log("tailer: its file was rotated and read to the end; reads the next one");
        await reader.handle.close();
        reader = newer;
      } else {
        await pause(signal);
      }
    }
  } catch (error) {
    const second = error instanceof MillraceError && error.code === "OFFSET_MISMATCH";
    // Nothing was doubled. A start reads the last record again and goes on from there.
    throw second ? new Error("somebody else tails this file, or the answer to a repeated append was lost") : error;
  } finally {
    await reader.handle.close();
  }
}

/**
 * Opens the file that the last record came from, under whatever name it has now, behind that record. Undefined: there is no file.
 *
 * @param {string} path
 * @param {Line | undefined} last
 */
async function openAt(path, last) {
  const names = await generations(path);
  if (last === undefined) return openReader(names[0], 0);
  const known = names.find(({ file }) => file === last.file);
  if (known !== undefined) return openReader(known, last.end);
  console.log("tailer: the file of the last record is gone; lines may be missing, begins with the oldest there is");
  return openReader(names.at(-1), 0);
}

/**
 * Opens the file that came after this one. Undefined: there is none yet.
 *
 * @param {string} path
 * @param {string} file
 */
async function openNewer(path, file) {
  const names = await generations(path);
  const place = names.findIndex((each) => each.file === file);
  return openReader(place < 0 ? names.at(-1) : names[place - 1], 0);
}

/** @param {AbortSignal} signal */
const pause = (signal) => sleep(20, undefined, { signal }).catch(() => undefined);

/**
 * The files under this name, newest first: app.log, app.log.1, … Looked at until two looks see the same: a rotation in the middle of
 * one hides a file, which had its old name when the names were read and its new one when it was looked for.
 *
 * @param {string} path
 */
async function generations(path) {
  for (let before = await lookAt(path); ; ) {
    const now = await lookAt(path);
    if (JSON.stringify(now) === JSON.stringify(before)) return now;
    before = now;
  }
}

/** @param {string} path */
async function lookAt(path) {
  const names = (await readdir(dirname(path))).filter((name) => name === basename(path) || isRotated(path, name));
  const ages = names.map((name) => ({
    path: join(dirname(path), name),
    age: Number(/[.](\d+)$/.exec(name)?.[1] ?? 0),
  }));
  const found = [];
  for (const each of ages.sort((one, other) => one.age - other.age)) {
    const file = await fileAt(each.path);
    if (file !== undefined) found.push({ path: each.path, file });
  }
  return found;
}

/**
 * @param {string} path
 * @param {string} name
 */
const isRotated = (path, name) => name.startsWith(`${basename(path)}.`) && /[.]\d+$/.test(name);

/**
 * Undefined: there is none, or it was rotated between the look and the opening.
 *
 * @param {{ path: string, file: string } | undefined} found
 * @param {number} position
 */
async function openReader(found, position) {
  if (found === undefined) return undefined;
  const handle = await open(found.path, "r").catch((/** @type {NodeJS.ErrnoException} */ error) => {
    if (error.code !== "ENOENT") throw error;
  });
  if (handle === undefined) return undefined;
  const file = idOf(await handle.stat());
  if (file === found.file) return new LineReader(handle, file, position);
  await handle.close();
  return undefined;
}

/** @param {import("node:fs").Stats} stats */
const idOf = ({ ino, birthtimeMs }) => `${ino}-${Math.trunc(birthtimeMs)}`;

/** @param {string} path */
const fileAt = (path) => stat(path).then(idOf, () => undefined);

const broker = await exampleBroker(`${TOPIC}:1`);
const client = await connect({ broker: broker.address });
const run = Date.now().toString(36);
try {
  await inTemporaryDirectory(async (dir) => {
    const path = join(dir, "app.log");
    const [{ offset: begun }] = await client.offsetsAt(TOPIC, "latest");
    const written = /** @type {string[]} */ ([]);
    /** @param {number} count */
    const write = async (count) => {
      for (let i = 0; i < count; i++) {
        written.push(`${run} request ${written.length} served`);
        await appendFile(path, `${written.at(-1)}\n`);
      }
    };
    /** @param {() => Promise<void>} meanwhile */
    const tailWhile = async (meanwhile) => {
      const stop = new AbortController();
      const tailing = tail(client, path, stop.signal);
      await meanwhile();
      // Until it has caught up.
      for (const until = Date.now() + 10_000; Date.now() < until; await sleep(20)) {
        const [{ offset }] = await client.offsetsAt(TOPIC, "latest");
        if (offset - begun >= written.length) break;
      }
      stop.abort();
      await tailing;
    };

    await write(10);
    await tailWhile(() => write(10));
    console.log("application: writes 5 lines while nobody tails, rotates its log, and writes 5 more");
    await write(5);
    await rename(path, join(dir, "app.log.1"));
    await write(5);
    await tailWhile(async () => {
      await write(5);
      console.log("application: rotates under the tailer");
      await rename(join(dir, "app.log.1"), join(dir, "app.log.2"));
      await rename(path, join(dir, "app.log.1"));
      await write(5);
    });

    const read = [];
    const lines = client.topic(TOPIC, { codec: /** @type {import("millrace/client").Codec<Line>} */ (json()) });
    for await (const { value } of lines.replay({ from: begun }).records()) read.push(value.line);
    console.log(`the log has ${read.length} lines of the ${written.length} that were written`);
    promise(read.join("\n") === written.join("\n"), "each line is there once, in order");
  });
} finally {
  await client.close();
  await broker.stop();
}
