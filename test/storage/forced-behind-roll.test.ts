// A segment that is rolled while a barrier seals the one before it: the same barrier then seals it, too, whole. And what may be
// missing of the one that follows.

import { rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type NativeSegmentWriter, native } from "../../src/native/binding.js";
import { decodeSlot, SLOT_BYTES, SLOTS } from "../../src/storage/checkpoint.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, crashCopy, logPath } from "./support/crash.js";
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

/** The segments in which the checkpoint's slots say that the log is durable. */
function segmentsInCheckpoint(dir: string): number[] {
  const bytes = bytesOf(join(dir, "checkpoint"));
  const slots = Array.from({ length: SLOTS }, (_, n) =>
    decodeSlot(bytes.subarray(n * SLOT_BYTES, (n + 1) * SLOT_BYTES)),
  );
  return slots.flatMap((slot) => (typeof slot === "object" ? [slot.checkpoint.segmentBase] : []));
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

  it("may lose the segment behind what is durable, whose creation nobody has forced: the checkpoint names it, and the log ends there", async () => {
    const dir = tempDir();
    const options = { mode, segmentBytes: 1000 };
    const opened = await open(dir, options);
    for (let number = 0; opened.log.segments().length < 2; number++) await opened.append(payload(number, 100));
    // Nobody forces: what was rolled is sealed after a while, and that is how far the log is durable.
    opened.clock.ms += 60_000;
    await opened.log.upkeep();
    await opened.log.settled();
    const behind = opened.log.activeBaseOffset;
    expect(opened.log.durableOffset).toBe(behind);
    for (const lost of ["its bytes", "its size", "its name"]) {
      const left = crashCopy(dir);
      const path = logPath(left, behind);
      expect(segmentsInCheckpoint(left)).toContain(behind);
      const { size } = statSync(path);
      if (lost === "its name") rmSync(path);
      else truncateSync(path, 0);
      if (lost === "its bytes") truncateSync(path, size);
      const again = await open(left, options);
      expect([again.log.logStartOffset, again.log.logEndOffset]).toEqual([0, behind]);
      expect(await again.append(payload(behind, 100))).toBe(behind);
      expect(await again.log.force()).toBe(behind + 1);
      await again.close();
    }
    await opened.close();
  });
});
