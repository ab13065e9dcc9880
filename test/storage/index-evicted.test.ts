// Partitions that share a cache of indexes in which only one has room: what one of them loads, another throws out before it is used.

import { expect, it } from "vitest";
import { IndexCache } from "../../src/storage/index-cache.js";
import { tempDir } from "../support/tmp.js";
import { MODES, open } from "./support/opened.js";
import { payload, payloads } from "./support/records.js";

const PARTITIONS = 12;
const RECORDS = 30;

it.each(MODES)("%s: after a clean start all of them can be written at the same time", async (mode) => {
  const dirs = Array.from({ length: PARTITIONS }, () => tempDir("evicted"));
  const options = { mode, segmentBytes: 65_536, indexIntervalBytes: 64 };
  for (const dir of dirs) {
    const log = await open(dir, options);
    for (let number = 0; number < RECORDS; number++) await log.append(payload(number, 100));
    await log.close();
  }
  for (let round = 0; round < 5; round++) {
    const indexCache = new IndexCache(1);
    const logs = await Promise.all(dirs.map((dir) => open(dir, { ...options, deps: { indexCache } })));
    const next = RECORDS + round;
    const bases = await Promise.all(logs.map((log) => log.append(payload(next, 100))));
    expect(bases).toEqual(bases.map(() => next));
    for (const log of logs) {
      expect(await log.readAll()).toEqual(payloads(0, next + 1, 100));
      await log.close();
    }
  }
});
