// A segment that is rolled while a barrier seals the one before it: the same barrier then seals it, too, whole.

import { describe, expect, it, vi } from "vitest";
import { type NativeSegmentWriter, native } from "../../src/native/binding.js";
import { tempDir } from "../support/tmp.js";
import { crashCopy } from "./support/crash.js";
import { MODES, open } from "./support/opened.js";
import { payload } from "./support/records.js";

/** Segments that are opened again from here on are sealed when the returned function is called, and not before. */
function holdSeals(): () => void {
  const openSegmentWriter = native.openSegmentWriter;
  let letGo: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const hold = (writer: NativeSegmentWriter): NativeSegmentWriter => {
    const seal = writer.seal.bind(writer);
    return Object.defineProperty(writer, "seal", { value: () => held.then(seal) });
  };
  const spy = vi.spyOn(native, "openSegmentWriter");
  spy.mockImplementation(async (options) => hold(await openSegmentWriter(options)));
  return () => {
    spy.mockRestore();
    letGo();
  };
}

describe.each(MODES)("%s", (mode) => {
  it("is durable as far as it was sealed, so retention that takes it leaves a log that opens again", async () => {
    const letGo = holdSeals();
    const dir = tempDir();
    const options = { mode, segmentBytes: 1000, retentionBytes: 1 };
    const opened = await open(dir, options);
    for (let number = 0; number < 11; number++) await opened.append(payload(number, 100));
    const forcing = opened.log.force();
    while (opened.log.segments().length < 3) await opened.append(payload(11, 100));
    const rolledAt = opened.log.activeBaseOffset;
    letGo();
    await forcing;
    expect(opened.log.durableOffset).toBe(rolledAt);
    await opened.log.settled();
    expect(await opened.log.applyRetention()).toBe(2);
    const killed = await open(crashCopy(dir), options);
    expect(killed.log.logStartOffset).toBe(rolledAt);
    await killed.close();
    await opened.close();
  });
});
