// Processes that are really killed, in the middle of appending, rolling and recovering. What they said was acknowledged must
// be there.

import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { printedSeed, randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";
import { crashCopy, files, flipBit, logPath } from "./support/crash.js";
import { COMBINATIONS, open } from "./support/opened.js";
import { payload, payloads } from "./support/records.js";
import { runUntilKilled, victim } from "./support/victim.js";

const seed = printedSeed("storage killed");
const SEGMENT_BYTES = 200_000;
/** A dozen processes are started and killed, on a machine that may have other things to do. */
const TIMEOUT_MS = 120_000;
/** Record n, as the victim writes it. */
const record = (number: number): Uint8Array => payload(number, 1 + ((number * 37) % 3000));

describe.each(COMBINATIONS)("%s %s", (mode, format) => {
  it(
    "S12 killed while it appends, rolls and forces, it has what it said, in order, and goes on",
    async () => {
      const random = randomFrom(seed);
      const dir = tempDir("killed");
      let said = 0;
      const program = await victim(
        `
      const opened = await open(dir, { mode, format, segmentBytes, indexIntervalBytes: 1024 });
      say("open");
      for (let number = opened.log.logEndOffset; ; number++) {
        await opened.append(payload(number, 1 + ((number * 37) % 3000)));
        if (number % 50 === 0) await opened.log.force();
        if (number % 5 === 0) say(String(number + 1));
      }`,
        { dir, mode, format, segmentBytes: SEGMENT_BYTES },
      );
      for (let round = 0; round < 3; round++) {
        const lines = await runUntilKilled(program, { line: "open", thenMs: 150 + random() * 300 });
        said = Math.max(said, ...lines.map(Number).filter(Number.isInteger));
        const again = await open(dir, { mode, format, segmentBytes: SEGMENT_BYTES });
        expect(again.log.logEndOffset).toBeGreaterThanOrEqual(said);
        const all = await again.readAll();
        expect(all).toHaveLength(again.log.logEndOffset);
        for (const [number, each] of all.entries()) {
          if (Buffer.compare(each, record(number)) !== 0) throw new Error(`record ${number} is not what was written`);
        }
        await again.append(record(all.length));
        await again.close();
      }
      expect(said).toBeGreaterThan(100);
    },
    TIMEOUT_MS,
  );
});

it(
  "S12 killed again and again while it recovers, it comes to the same end",
  async () => {
    const random = randomFrom(seed);
    const dir = tempDir("killed");
    const options = { mode: "MAPPED", format: "crc32c", segmentBytes: 1_000_000 } as const;
    const opened = await open(dir, options);
    for (let number = 0; number < 40; number++) await opened.append(payload(number, 100_000));
    await opened.log.settled();
    const torn = crashCopy(dir);
    await opened.close();
    // A tear in the second of five segments, none of them sealed: much is to be moved away.
    for (const name of [...files(torn, ".index"), "checkpoint"]) rmSync(`${torn}/${name}`);
    flipBit(logPath(torn, 9), 300_000);
    const program = await victim(
      'say("start"); await open(dir, { mode, format, segmentBytes }); say("open"); setInterval(() => 0, 1000);',
      { dir: torn, ...options },
    );
    for (let round = 0; round < 12; round++) await runUntilKilled(program, { line: "start", thenMs: random() * 30 });
    const again = await open(torn, options);
    expect(again.log.logEndOffset).toBe(11);
    expect(again.log.truncatedAt(0, 12)).toBe(11);
    expect(await again.readAll()).toEqual(payloads(0, 11, 100_000));
    expect(files(torn, ".tmp")).toEqual([]);
    // Each part was moved away once, however often it was begun.
    expect(files(torn, ".torn").map((name) => Number(name.slice(0, 20)))).toEqual([9, 18, 27, 36]);
    await again.close();
  },
  TIMEOUT_MS,
);
