// Where the records of a time begin, in an embedded log.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { openLog } from "../../src/index.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, collect, texts } from "./support/records.js";

it("a time leads to the records of then: never too late, early by an index interval at most, and beyond the last to the end", async () => {
  await using log = await openLog(tempDir(), { diskReserveBytes: 0, segmentBytes: 64 * 1024, indexIntervalBytes: 64 });
  const begun = Date.now();
  const bytes = bytesOf("x".repeat(100));
  for (let i = 0; i < 300; i++) await log.append(bytes, { ack: "written" });
  await sleep(30);
  const between = new Date();
  await log.append(bytesOf("later"));
  await log.append(bytesOf("last"));
  expect(await log.offsetAt(0)).toBe(0);
  expect(await log.offsetAt(begun - 1000)).toBe(0);
  const found = await log.offsetAt(between);
  expect(found).toBeLessThanOrEqual(300);
  expect(found).toBeGreaterThanOrEqual(299);
  expect(texts(await collect(log.replay(found))).slice(-2)).toEqual(["later", "last"]);
  expect(await log.offsetAt(Date.now() + 60_000)).toBe(302);
});

it("a time of what may not be read yet leads to the high watermark", async () => {
  await using log = await openLog(tempDir(), { diskReserveBytes: 0, visibility: "durable" });
  const begun = Date.now();
  const written = log.append(bytesOf("a"), { ack: "written" });
  // Whether it is forced already or not: never above what may be read, and 0 is where this record is.
  expect(await log.offsetAt(begun)).toBe(0);
  await written;
  await log.force();
  expect(await log.offsetAt(begun)).toBe(0);
});

it("what is no time is refused, and a closed log says so", async () => {
  const log = await openLog(tempDir(), { diskReserveBytes: 0 });
  for (const time of [-1, 1.5, Number.NaN, new Date(Number.NaN), "now" as unknown as number]) {
    await expect(log.offsetAt(time)).rejects.toMatchObject({ code: "BAD_ARGUMENT" });
  }
  await log.close();
  await expect(log.offsetAt(0)).rejects.toMatchObject({ code: "CLOSED" });
});
