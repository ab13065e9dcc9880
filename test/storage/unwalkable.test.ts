// Readers of a sealed segment in which a length is broken: they are refused behind it, and the operator hears once of the place.

import { describe, expect, it } from "vitest";
import { ReadOutcome } from "../../src/storage/read-plan.js";
import { tempDir } from "../support/tmp.js";
import { sleep, until } from "../support/waiting.js";
import { logPath, overwrite } from "./support/crash.js";
import { COMBINATIONS, type Opened, open } from "./support/opened.js";
import { headerBytes, payload } from "./support/records.js";

const told = (opened: Opened) => opened.events.filter(({ kind }) => kind === "segment.damaged");

describe.each(COMBINATIONS)("%s %s", (mode, format) => {
  it.each([0x7fff_0000, -1, 0])("a length of %i in a sealed segment is told once, with its place", async (length) => {
    const dir = tempDir();
    const options = { mode, format, segmentBytes: 20_000, indexIntervalBytes: 4000 };
    const written = await open(dir, options);
    for (let number = 0; number < 400; number++) await written.append(payload(number, 100));
    await written.close();
    const record = headerBytes(format) + 100;
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(length);
    overwrite(logPath(dir, 0), 13 * record, bytes);
    const opened = await open(dir, options);
    expect(await opened.read(12)).toEqual(payload(12, 100));
    for (const offset of [33, 14, 20]) expect((await opened.plan(offset)).outcome).toBe(ReadOutcome.STORAGE_FAILURE);
    await until("the operator hears of it", () => told(opened).length > 0);
    // Another one would come as soon.
    await sleep(20);
    expect(told(opened)).toEqual([
      expect.objectContaining({ level: "error", path: logPath(dir, 0), position: 13 * record, offset: 13 }),
    ]);
    expect(told(opened)[0].message).toContain("so offset 33 cannot be found");
    // Behind the next entry of the index they are found again.
    expect(await opened.read(100)).toEqual(payload(100, 100));
    await opened.close();
  });
});
