// The append through the boundary, on both paths and in both formats: what is stored, what is refused, what the index gets.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { APPEND_COLUMNS, AppendStatus, native, RecordFormatId } from "../../src/native/binding.js";
import { concat, prefixes, withExtremes } from "../support/bytes.js";
import { storedRecords } from "../support/stored-records.js";
import {
  append,
  appendRegion,
  appendRows,
  combinations,
  created,
  optionsOf,
  payloads,
  region,
} from "./support/segments.js";

const contents = (path: string, bytes: number): Uint8Array => new Uint8Array(readFileSync(path).subarray(0, bytes));

describe.each(combinations)("$path $format", (combination) => {
  const header = combination.format === "plain" ? 4 : 8;

  it("stores the records as the format says, batch behind batch", async () => {
    const options = optionsOf(combination);
    const writer = await created(options);
    const batches = [payloads([1, 100, 5000], 1), payloads([7], 50), payloads(Array(300).fill(128), 60)];
    const ends = batches.map((batch) => append(writer, batch).end);
    const expected = batches.map((batch) => storedRecords(combination.format, batch));
    expect(ends).toEqual(expected.map((_, index) => concat(...expected.slice(0, index + 1)).length));
    expect(writer.end).toBe(ends[2]);
    expect(contents(options.path, writer.end)).toEqual(concat(...expected));
  });

  it("takes several batches of several segments in one call", async () => {
    const first = await created(optionsOf(combination));
    const second = await created(optionsOf(combination));
    const batch = payloads([10, 20]);
    const { rows } = appendRows(
      [first, second, second, first].map((writer) => ({ writer, source: region(batch), records: 2 })),
    );
    const size = storedRecords(combination.format, batch).length;
    expect(rows).toEqual([
      { status: AppendStatus.OK, end: size, errno: 0 },
      { status: AppendStatus.OK, end: size, errno: 0 },
      { status: AppendStatus.OK, end: 2 * size, errno: 0 },
      { status: AppendStatus.OK, end: 2 * size, errno: 0 },
    ]);
  });

  it("keeps nothing of a region that was cut anywhere, or has a byte too many", async () => {
    const writer = await created(optionsOf(combination));
    const whole = region(payloads([3, 1, 9]));
    for (const cut of [...prefixes(whole), concat(whole, Uint8Array.of(0)), concat(whole, Uint8Array.of(1))]) {
      expect(appendRegion(writer, cut, 3)).toEqual({ status: AppendStatus.CORRUPT, end: 0, errno: 0 });
    }
    expect(appendRegion(writer, whole, 3).status).toBe(AppendStatus.OK);
  });

  it("keeps nothing of a region with an extreme in any size", async () => {
    const writer = await created(optionsOf(combination));
    const whole = region(payloads([5, 5, 5]));
    for (const at of [0, 9, 18]) {
      for (const changed of withExtremes(whole, at)) {
        expect(appendRegion(writer, changed, 3)).toEqual({ status: AppendStatus.CORRUPT, end: 0, errno: 0 });
      }
    }
  });

  it("keeps nothing when the count is not that of the records", async () => {
    const writer = await created(optionsOf(combination));
    const whole = region(payloads([5, 5, 5]));
    for (const count of [-0x80000000, -1, 0, 2, 4, 0x7fffffff]) {
      expect(appendRegion(writer, whole, count).status).toBe(AppendStatus.CORRUPT);
    }
    expect(appendRegion(writer, new Uint8Array(0), 0).status).toBe(AppendStatus.CORRUPT);
  });

  it("S05 refuses what a full segment has no room for, and keeps what was there", async () => {
    const options = optionsOf(combination, { capacity: 1024 });
    const writer = await created(options);
    const records = payloads(Array(6).fill(200));
    const fit = Math.floor(1024 / (header + 200));
    const statuses = records.map((record) => append(writer, [record]).status);
    expect(statuses).toEqual(records.map((_, index) => (index < fit ? AppendStatus.OK : AppendStatus.NO_ROOM)));
    expect(writer.end).toBe(fit * (header + 200));
    expect(contents(options.path, writer.end)).toEqual(storedRecords(combination.format, records.slice(0, fit)));
  });

  it("says too large only of a record that fits no segment of this capacity", async () => {
    const writer = await created(optionsOf(combination, { capacity: 1024 }));
    expect(append(writer, payloads([1024 - header + 1])).status).toBe(AppendStatus.TOO_LARGE);
    expect(append(writer, payloads([10])).status).toBe(AppendStatus.OK);
    expect(append(writer, payloads([1024 - header])).status).toBe(AppendStatus.NO_ROOM);
    expect(append(writer, payloads([10, 1024])).status).toBe(AppendStatus.TOO_LARGE);
  });

  it("lets no batch of the call overtake one that found no room", async () => {
    const writer = await created(optionsOf(combination, { capacity: 1024 }));
    const batch = (bytes: number) => ({ writer, source: region(payloads([bytes])), records: 1 });
    const { rows } = appendRows([batch(600), batch(600), batch(10)]);
    expect(rows.map(({ status }) => status)).toEqual([AppendStatus.OK, AppendStatus.NO_ROOM, AppendStatus.NO_ROOM]);
    expect(append(writer, payloads([10])).status).toBe(AppendStatus.OK);
  });

  it("goes no further than the reserved blocks until more are reserved", async () => {
    const writer = await created(optionsOf(combination, { capacity: 1 << 20, reserve: 4096 }));
    expect(append(writer, payloads([5000])).status).toBe(AppendStatus.NO_ROOM);
    expect(await writer.reserve(8192)).toBe(8192);
    expect(append(writer, payloads([5000])).status).toBe(AppendStatus.OK);
  });

  it("gives an index entry where an interval begins, and leaves them out when there is no room for them", async () => {
    const writer = await created(optionsOf(combination, { indexIntervalBytes: 1000 }));
    const each = 400 + header;
    const batch = { writer, source: region(payloads([400, 400, 400, 400])), records: 4 };
    expect(appendRows([batch, batch]).index).toEqual([0, 0, 0, 0, 3, 3 * each, 1, 2, 6 * each]);
    expect(appendRows([batch, batch], 1).index).toEqual([0, 1, 9 * each]);
    expect(appendRows([batch], 0).index).toEqual([]);
    expect(writer.end).toBe(20 * each);
  });

  it("measures how much of a region fits", () => {
    const records = payloads([10, 20, 30]);
    const source = concat(Uint8Array.of(9, 9), region(records));
    const measure = (room: number, maxPayload = 1000) =>
      native.measureRegion(source, 2, source.length - 2, 3, RecordFormatId[combination.format], room, maxPayload);
    expect(measure(0)).toEqual({ status: AppendStatus.OK, records: 0, regionBytes: 0, storedBytes: 0 });
    const two = { status: AppendStatus.OK, records: 2, regionBytes: 38, storedBytes: 30 + 2 * header };
    expect(measure(30 + 2 * header)).toEqual(two);
    expect(measure(60 + 3 * header - 1)).toEqual(two);
    expect(measure(60 + 3 * header).records).toBe(3);
    expect(measure(1000, 29).status).toBe(AppendStatus.TOO_LARGE);
    const cut = native.measureRegion(source, 2, source.length - 3, 3, RecordFormatId[combination.format], 1000, 1000);
    expect(cut).toEqual({ status: AppendStatus.CORRUPT, records: 0, regionBytes: 0, storedBytes: 0 });
  });
});

it("a mistake in the table throws before anything of it is written", async () => {
  const writer = await created(optionsOf({ path: "MAPPED", format: "crc32c" }));
  const source = region(payloads([10]));
  const index = new Uint32Array(3);
  const good = [writer.id, 0, 0, source.length, 1, -1, -1, -1];
  const tryRow = (column: number, value: number) => {
    const table = Int32Array.from([...good, ...good]);
    table[APPEND_COLUMNS + column] = value;
    return () => native.append(table, 2, [source], index);
  };
  const outOfRange = expect.objectContaining({ code: "ERR_OUT_OF_RANGE" });
  expect(tryRow(0, writer.id + 1)).toThrow(outOfRange);
  expect(tryRow(0, -1)).toThrow(outOfRange);
  expect(tryRow(1, 1)).toThrow(outOfRange);
  expect(tryRow(1, -1)).toThrow(outOfRange);
  expect(tryRow(2, -1)).toThrow(outOfRange);
  expect(tryRow(2, 1)).toThrow(outOfRange);
  expect(tryRow(3, source.length + 1)).toThrow(outOfRange);
  expect(tryRow(3, -1)).toThrow(outOfRange);
  expect(writer.end).toBe(0);
  expect(() => native.append(Int32Array.from(good), 2, [source], index)).toThrow(outOfRange);
  expect(native.append(Int32Array.from(good), 0, [source], index)).toBe(0);
});

it("a table, a source or an index of another kind, or detached, is a TypeError", async () => {
  const writer = await created(optionsOf({ path: "MAPPED", format: "crc32c" }));
  const source = region(payloads([10]));
  const table = Int32Array.from([writer.id, 0, 0, source.length, 1, 0, 0, 0]);
  const index = new Uint32Array(3);
  const wrong = (values: unknown[]) => () => native.append(...(values as Parameters<typeof native.append>));
  const typeError = expect.objectContaining({ name: "TypeError" });
  expect(wrong([new Uint32Array(8), 1, [source], index])).toThrow(typeError);
  expect(wrong([[...table], 1, [source], index])).toThrow(typeError);
  expect(wrong([table, "1", [source], index])).toThrow(typeError);
  expect(wrong([table, 1, source, index])).toThrow(typeError);
  expect(wrong([table, 1, [source.buffer], index])).toThrow(typeError);
  expect(wrong([table, 1, [null], index])).toThrow(typeError);
  expect(wrong([table, 1, [source], new Int32Array(3)])).toThrow(typeError);
  expect(wrong([])).toThrow(typeError);
  const gone = new Uint8Array(100);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  expect(wrong([table, 1, [gone], index])).toThrow(typeError);
  // A source whose getter takes the table away: what the addon looked up before must not be used after.
  const sly = [source];
  Object.defineProperty(sly, 0, {
    get: () => {
      structuredClone(table.buffer, { transfer: [table.buffer] });
      return source;
    },
  });
  expect(wrong([table, 1, sly, index])).toThrow(typeError);
  expect(writer.end).toBe(0);
});

it("a source that throws when it is looked at is the caller's exception", async () => {
  const writer = await created(optionsOf({ path: "MAPPED", format: "crc32c" }));
  const sly = Object.defineProperty([], 0, {
    get: () => {
      throw new Error("mine");
    },
  }) as Uint8Array[];
  expect(() => native.append(Int32Array.of(writer.id, 0, 0, 0, 0, 0, 0, 0), 1, sly, new Uint32Array(3))).toThrow(
    "mine",
  );
});

describe("while the sources are read, a getter of one", () => {
  const begun = async () => {
    const writer = await created(optionsOf({ path: "FILE_CHANNEL", format: "plain" }));
    const source = region(payloads([10]));
    const table = Int32Array.of(writer.id, 0, 0, source.length, 1, -1, -1, -1);
    const sly = (get: () => Uint8Array) => Object.defineProperty([source], 1, { get }) as Uint8Array[];
    return { writer, source, run: (get: () => Uint8Array) => native.append(table, 1, sly(get), new Uint32Array(3)) };
  };

  it("takes the memory of an earlier one away: it is refused, and nothing of that memory is read", async () => {
    const { writer, source, run } = await begun();
    const taking = () => {
      structuredClone(source.buffer, { transfer: [source.buffer as ArrayBuffer] });
      return new Uint8Array(1);
    };
    expect(() => run(taking)).toThrow(expect.objectContaining({ name: "TypeError", message: "a source is detached" }));
    expect(writer.end).toBe(0);
  });

  it("appends itself: both get what they asked for", async () => {
    const { writer, source, run } = await begun();
    const other = await created(optionsOf({ path: "FILE_CHANNEL", format: "plain" }));
    run(() => {
      expect(append(other, payloads([30, 40])).status).toBe(AppendStatus.OK);
      return new Uint8Array(1);
    });
    expect(contents(writer.file.path, writer.end)).toEqual(source);
    expect(other.end).toBe(78);
  });
});
