import { expect, it } from "vitest";
import { tempDir } from "../support/tmp.js";
import { COMBINATIONS, open } from "./support/opened.js";
import { payload } from "./support/records.js";

it.each(COMBINATIONS)("smoke %s %s", async (mode, format) => {
  const dir = tempDir();
  const o = await open(dir, { mode, format, segmentBytes: 4096 });
  for (let i = 0; i < 100; i++) expect(await o.append(payload(i, 100))).toBe(i);
  expect((await o.readAll()).length).toBe(100);
  await o.log.force();
  await o.log.settled();
  expect(o.log.durableOffset).toBe(100);
  console.log(o.log.segments(), o.events);
  await o.close();
  const p = await open(dir, { mode, format, segmentBytes: 4096 });
  console.log(p.log.recovery, p.events);
  expect((await p.readAll()).length).toBe(100);
  expect(await p.append(payload(100, 100))).toBe(100);
  expect((await p.readAll()).length).toBe(101);
  await p.close();
});
