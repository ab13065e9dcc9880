// What a forced partition promised is there after the power was cut, while it is written fast: segments whose creation nobody has
// forced, blocks filled ahead of the end and into the next segment, batches over several segments, seals and retention in between.
// That the disk of this test loses what was not forced is tested in test/native/power-cut.slow.test.ts.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { type FileSystem, PowerCutDisk, whyNoPowerCuts, withImage } from "../native/support/power-cut.js";
import { printedSeed, randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";
import { open } from "./support/opened.js";
import { payload } from "./support/records.js";
import { victim } from "./support/victim.js";

const ROUNDS = 8;
const SEGMENT_BYTES = 4 * 1024 * 1024;
const RETENTION_BYTES = 6 * SEGMENT_BYTES;
/** Record n, as the victim writes it: runs of long ones and runs of short ones. */
const SIZE = "(n) => 1 + ((n * 7919) % (n % 500 < 400 ? 60000 : 300))";
const sizeOf = (n: number): number => 1 + ((n * 7919) % (n % 500 < 400 ? 60000 : 300));

/** 1 GB/s by the clock that the partition is given. Says the end of what is forced, and the start once retention has run. */
const BODY = `
  const sizeOf = ${SIZE};
  let state = seed;
  const random = () => (state = (state * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
  const opened = await open(dir, { mode: "MAPPED", format: "crc32c", segmentBytes, retentionBytes });
  say("open");
  const barriers = [];
  for (let number = 0, unticked = 0; ; ) {
    const count = random() < 0.01 ? 200 : 1 + Math.floor(random() * 3);
    const batch = Array.from({ length: count }, (_, i) => payload(number + i, sizeOf(number + i)));
    await opened.append(...batch);
    number += count;
    unticked += batch.reduce((sum, { length }) => sum + length, 0);
    opened.clock.ms += Math.floor(unticked / 1e6);
    unticked %= 1e6;
    // Not awaited at once: appends and rolls go on beside a barrier.
    if (random() < 0.03) barriers.push(opened.log.force().then((end) => say("forced " + end)));
    if (barriers.length > 2) await barriers.shift();
    if (random() < 0.01) await opened.log.applyRetention().then(() => say("start " + opened.log.logStartOffset));
  }`;

const last = (lines: readonly string[], what: string): number =>
  Math.max(0, ...lines.filter((line) => line.startsWith(what)).map((line) => Number(line.split(" ")[1])));

async function promisedAndLeft(fileSystem: FileSystem, seed: number): Promise<readonly [number, number]> {
  const disk = await PowerCutDisk.attach(fileSystem, tempDir("power"));
  onTestFinished(() => disk.detach());
  const data = join(disk.mountPoint, "data");
  const names = { dir: data, seed, segmentBytes: SEGMENT_BYTES, retentionBytes: RETENTION_BYTES };
  const child = spawn(process.execPath, [await victim(BODY, names)], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const reader = createInterface(child.stdout).on("line", (line) => lines.push(line));
  await once(reader, "line");
  await new Promise((resolve) => setTimeout(resolve, 300 + randomFrom(seed)() * 3000));
  // Before the cut: what comes from here on may or may not be there.
  const promised = last(lines, "forced");
  const started = last(lines, "start");
  const { image } = await disk.cut(seed);
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  await disk.detach();
  return await withImage(image, disk.mountPoint, async () => {
    const again = await open(data, { mode: "MAPPED", format: "crc32c", segmentBytes: SEGMENT_BYTES });
    const { logStartOffset, logEndOffset } = again.log;
    expect(logStartOffset).toBeGreaterThanOrEqual(started);
    const all = await again.readAll();
    expect(all).toHaveLength(logEndOffset - logStartOffset);
    for (const [at, each] of all.entries()) {
      const number = logStartOffset + at;
      if (Buffer.compare(each, payload(number, sizeOf(number))) !== 0) throw new Error(`record ${number} is another`);
    }
    await again.append(payload(logEndOffset, sizeOf(logEndOffset)));
    expect(await again.log.force()).toBe(logEndOffset + 1);
    await again.close();
    return [promised, logEndOffset];
  });
}

describe.each<FileSystem>(["ext4", "xfs"])("on %s", (fileSystem) => {
  const reason = whyNoPowerCuts(fileSystem);

  it.skipIf(reason !== undefined)(
    `C5 a partition that is written fast has all that it forced when the power is cut${reason ? ` (${reason})` : ""}`,
    async () => {
      const seed = printedSeed(`power cuts of a partition on ${fileSystem}`);
      let most = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const [promised, left] = await promisedAndLeft(fileSystem, seed + round);
        expect(left, `seed ${seed + round}`).toBeGreaterThanOrEqual(promised);
        most = Math.max(most, promised);
      }
      expect(most).toBeGreaterThan(0);
    },
  );
});
