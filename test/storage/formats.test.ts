// Names and small files: each is read back as it was written, and every damage to it is noticed.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OFFSET_MAX } from "../../src/model/limits.js";
import { native } from "../../src/native/binding.js";
import { bootDigits, type Checkpoint, decodeSlot, encodeSlot, SLOT_BYTES } from "../../src/storage/checkpoint.js";
import { decodeIndexBody, decodeIndexHeader, encodeIndex, INDEX_HEADER_BYTES } from "../../src/storage/index-file.js";
import { OffsetIndex } from "../../src/storage/offset-index.js";
import { classifyFile, indexName, logName, nextName, tornName } from "../../src/storage/segment-name.js";
import { printedSeed } from "../support/seed.js";

const seed = printedSeed("storage formats");
const offsets = fc.integer({ min: 0, max: OFFSET_MAX });

describe("segment names", () => {
  it("sort as offsets do", () => {
    fc.assert(
      fc.property(offsets, offsets, (a, b) => {
        expect(logName(a) < logName(b)).toBe(a < b);
        expect(classifyFile(logName(a))).toEqual({ kind: "log", baseOffset: a });
        expect(classifyFile(indexName(a))).toEqual({ kind: "index", baseOffset: a });
      }),
      { seed },
    );
  });

  it.each([
    ["00000000000000000042.log", "log"],
    ["00000000000000000042.index", "index"],
    [nextName(0), "leftover"],
    [nextName(3), "leftover"],
    ["00000000000000000042.index.tmp", "leftover"],
    ["partition.json.tmp", "leftover"],
    ["checkpoint.tmp", "leftover"],
    [`${tornName(42, 100, 0)}.tmp`, "leftover"],
    [tornName(42, 100, 0), "own"],
    [tornName(42, 100, 2), "own"],
    [".lock", "own"],
    ["partition.json", "own"],
    ["checkpoint", "own"],
    ["42.log", "foreign"],
    ["00000000000000000042.log.bak", "foreign"],
    ["99999999999999999999.log", "foreign"],
    ["notes.txt", "foreign"],
  ] as const)("%s is %s", (name, kind) => {
    expect(classifyFile(name).kind).toBe(kind);
  });
});

const someCheckpoint: Checkpoint = {
  durableOffset: 1234,
  segmentBase: 1000,
  position: 5678,
  logStartOffset: 500,
  bootId: "0123456789abcdef0123456789abcdef",
  epochs: [
    { epoch: 1, start: 100 },
    { epoch: 3, start: 900 },
  ],
};

describe("the checkpoint's slot", () => {
  it("is read as it was written", () => {
    const checkpoints = fc
      .tuple(
        offsets,
        offsets,
        offsets,
        fc.integer({ min: 0, max: 1 << 30 }),
        fc.array(fc.tuple(fc.nat(), offsets), { maxLength: 300 }),
      )
      .map(([a, b, c, position, epochs]) => {
        const [logStartOffset, segmentBase, durableOffset] = [a, b, c].sort((x, y) => x - y);
        const bootId = someCheckpoint.bootId;
        return {
          durableOffset,
          segmentBase,
          logStartOffset,
          position,
          bootId,
          epochs: epochs.map(([epoch, start]) => ({ epoch, start })),
        };
      });
    fc.assert(
      fc.property(checkpoints, fc.integer({ min: 0, max: OFFSET_MAX }), (checkpoint, sequence) => {
        expect(decodeSlot(encodeSlot(sequence, checkpoint))).toEqual({ sequence, checkpoint });
      }),
      { seed },
    );
  });

  it("notices every flipped bit of what it uses", () => {
    const slot = encodeSlot(7, someCheckpoint);
    const used = 72 + 2 * 12;
    for (let bit = 0; bit < used * 8; bit++) {
      const damaged = slot.slice();
      damaged[bit >> 3] ^= 1 << (bit & 7);
      expect(decodeSlot(damaged), `bit ${bit}`).toBeUndefined();
    }
  });

  it("of a newer version is told from a damaged one", () => {
    const slot = encodeSlot(7, someCheckpoint);
    const view = new DataView(slot.buffer);
    view.setUint32(12, 2);
    view.setUint32(4, native.crc32c(slot.subarray(8, view.getUint32(8))));
    expect(decodeSlot(slot)).toBe("newer");
  });

  it("is nothing when it is empty, cut or noise", () => {
    expect(decodeSlot(new Uint8Array(SLOT_BYTES))).toBeUndefined();
    expect(decodeSlot(encodeSlot(1, someCheckpoint).subarray(0, 100))).toBeUndefined();
    expect(decodeSlot(new Uint8Array(SLOT_BYTES).fill(0xff))).toBeUndefined();
  });

  it("knows a boot by its digits, and one without a name as unknown", () => {
    expect(bootDigits("01234567-89AB-cdef-0123-456789abcdef")).toBe(someCheckpoint.bootId);
    expect(bootDigits(undefined)).toBe("");
    expect(bootDigits("not a boot")).toBe("");
    const unknown = { ...someCheckpoint, bootId: "" };
    expect(decodeSlot(encodeSlot(1, unknown))).toEqual({ sequence: 1, checkpoint: unknown });
  });
});

describe("the index file", () => {
  const header = {
    baseOffset: 5_000_000_000,
    records: 300,
    segmentBytes: 40_000,
    firstAppendMs: 1_700_000_000_000,
    lastAppendMs: 1_700_000_999_999,
    closedMtimeSeconds: 1_700_000_998,
  };
  const some = (count: number): OffsetIndex => {
    const index = OffsetIndex.empty();
    for (let at = 0; at < count; at++) index.add(at * 3, at * 400, header.firstAppendMs + at);
    return index;
  };

  it.each([0, 1, 16, 17, 100])("of %i entries is read as it was written", (count) => {
    const file = encodeIndex(header, some(count));
    const outcome = decodeIndexHeader(file, header.baseOffset, file.length, header.segmentBytes);
    if ("problem" in outcome) throw new Error(outcome.problem);
    expect(outcome.header).toMatchObject({ ...header, entries: count });
    const index = decodeIndexBody(file, outcome.header);
    expect(index?.columns()).toEqual(some(count).columns());
  });

  it("notices every flipped bit", () => {
    const file = encodeIndex(header, some(5));
    for (let bit = 0; bit < file.length * 8; bit++) {
      const damaged = file.slice();
      damaged[bit >> 3] ^= 1 << (bit & 7);
      const outcome = decodeIndexHeader(damaged, header.baseOffset, damaged.length, header.segmentBytes);
      const isGood = "header" in outcome && decodeIndexBody(damaged, outcome.header) !== undefined;
      expect(isGood, `bit ${bit}`).toBe(false);
    }
  });

  it.each([
    ["another segment's", header.baseOffset + 1, 0, header.segmentBytes],
    ["beside a segment of another size", header.baseOffset, 0, header.segmentBytes + 1],
    ["cut", header.baseOffset, -1, header.segmentBytes],
    ["too long", header.baseOffset, 1, header.segmentBytes],
  ] as const)("counts for nothing when it is %s", (_, base, more, bytes) => {
    const file = encodeIndex(header, some(5));
    expect(decodeIndexHeader(file, base, file.length + more, bytes)).toHaveProperty("problem");
  });

  it("of another version is told apart, and so is a file without a whole header", () => {
    const file = encodeIndex(header, some(5));
    file[4] = 2;
    expect(decodeIndexHeader(file, header.baseOffset, file.length, header.segmentBytes)).toEqual({
      problem: "it has version 2, this is for version 1",
    });
    const cut = file.subarray(0, INDEX_HEADER_BYTES - 1);
    expect(decodeIndexHeader(cut, header.baseOffset, cut.length, header.segmentBytes)).toHaveProperty("problem");
  });
});
