// A segment writer from creation to the end of its file: what each step leaves on the disk, and what is refused in which state.

import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { AppendStatus, native, RecordFormatId, ScanStop, SegmentModeId } from "../../src/native/binding.js";
import { concat } from "../support/bytes.js";
import { storedRecords } from "../support/stored-records.js";
import { tempDir } from "../support/tmp.js";
import {
  append,
  appendRegion,
  combinations,
  created,
  formats,
  opened,
  optionsOf,
  paths,
  payloads,
  region,
} from "./support/segments.js";

const closed = expect.objectContaining({ code: "ERR_CLOSED" });
const contents = (path: string): Uint8Array => new Uint8Array(readFileSync(path));

describe.each(combinations)("$path $format", (combination) => {
  const mapped = combination.path === "MAPPED";
  const header = combination.format === "plain" ? 4 : 8;

  it("has the length of its path while it is active, and exactly its records when it is sealed", async () => {
    const options = optionsOf(combination);
    const writer = await created(options);
    append(writer, payloads([10, 200]));
    expect(writer.file.size()).toBe(mapped ? options.capacity : writer.end);
    expect(writer.file.allocatedBytes()).toBeGreaterThanOrEqual(options.capacity);
    expect(await writer.seal()).toBe(210 + 2 * header);
    expect(contents(options.path)).toEqual(storedRecords(combination.format, payloads([10, 200])));
    expect(writer.file.allocatedBytes()).toBeLessThan(options.capacity);
    expect(writer.file.isOpen).toBe(true);
  });

  it("is cut the same by close, without a barrier", async () => {
    const options = optionsOf(combination);
    const writer = await created(options);
    append(writer, payloads([10, 200]));
    const before = native.barrierCount();
    await writer.close();
    expect(native.barrierCount()).toBe(before);
    expect(contents(options.path)).toEqual(storedRecords(combination.format, payloads([10, 200])));
    expect(writer.end).toBe(210 + 2 * header);
  });

  it("counts a barrier once and issues none when nothing was written", async () => {
    const writer = await created(optionsOf(combination));
    const before = native.barrierCount();
    expect(await writer.barrier()).toBe(0);
    expect(native.barrierCount()).toBe(before);
    append(writer, payloads([10]));
    expect(await writer.barrier()).toBe(10 + header);
    expect(await writer.barrier()).toBe(10 + header);
    expect(native.barrierCount()).toBe(before + 1);
  });

  it("covers with a barrier what was written when it was asked for", async () => {
    const writer = await created(optionsOf(combination));
    append(writer, payloads([10]));
    const first = writer.barrier();
    append(writer, payloads([20]));
    const second = writer.barrier();
    expect(await first).toBe(10 + header);
    expect(await second).toBe(30 + 2 * header);
  });

  it("S14 goes on when it is opened again, on either path", async () => {
    const options = optionsOf(combination);
    const writer = await created(options);
    append(writer, payloads([10, 200]));
    await writer.seal();
    for (const [index, path] of paths.entries()) {
      const again = await opened({ ...options, mode: SegmentModeId[path], end: writer.end + index * (5 + header) });
      expect(append(again, payloads([5], 9)).status).toBe(AppendStatus.OK);
      await again.seal();
    }
    const scan = await writer.file.scan(options.format, 0, options.capacity, 4096);
    expect(scan).toMatchObject({ stop: ScanStop.END, records: 4, end: statSync(options.path).size });
  });

  it("S12 cuts what lies behind its end when it is opened, so that no byte of it comes back", async () => {
    const options = optionsOf(combination);
    const first = await created(options);
    append(first, payloads([10]));
    const end = first.end;
    append(first, payloads([3000], 77));
    await first.close();
    const writer = await opened({ ...options, end });
    append(writer, payloads([7], 5));
    const expected = concat(
      storedRecords(combination.format, payloads([10])),
      storedRecords(combination.format, payloads([7], 5)),
    );
    const file = contents(options.path);
    expect(file.subarray(0, writer.end)).toEqual(expected);
    expect(file.subarray(writer.end).every((byte) => byte === 0)).toBe(true);
    expect(await writer.file.scan(options.format, 0, options.capacity, 4096)).toMatchObject({
      records: 2,
      tailBytes: 0,
    });
  });

  it("is renamed in the middle of its life", async () => {
    const options = optionsOf(combination);
    const writer = await created(options);
    append(writer, payloads([10]));
    const name = join(dirname(options.path), "b.log");
    await writer.rename(name);
    expect(writer.file.path).toBe(name);
    append(writer, payloads([20]));
    await writer.seal();
    expect(contents(name)).toEqual(storedRecords(combination.format, [...payloads([10]), ...payloads([20])]));
    await expect(created({ ...options })).resolves.toBeDefined();
  });

  it("reserves up to its capacity and never takes anything back", async () => {
    const options = optionsOf(combination, { reserve: 8192 });
    const writer = await created(options);
    expect(writer.reserved).toBe(8192);
    expect(await writer.reserve(100)).toBe(8192);
    expect(await writer.reserve(Number.MAX_SAFE_INTEGER)).toBe(options.capacity);
    expect(writer.reserved).toBe(options.capacity);
  });

  it("reserves blocks that are filled with zeros, also while somebody else reserves", async () => {
    const options = optionsOf(combination, { capacity: 32 << 20, reserve: 8192, forceLater: true });
    const writer = await created(options);
    append(writer, payloads([1000]));
    const [filled, reserved] = await Promise.all([writer.reserve(options.capacity, true), writer.reserve(1 << 20)]);
    expect(filled).toBeGreaterThanOrEqual(Math.min(2 << 20, reserved));
    while ((await writer.reserve(options.capacity, true)) < options.capacity);
    append(writer, payloads([2000], 9));
    expect(await writer.barrier()).toBe(3000 + 2 * header);
    expect(await writer.seal()).toBe(3000 + 2 * header);
    expect(contents(options.path)).toEqual(
      storedRecords(combination.format, [...payloads([1000]), ...payloads([2000], 9)]),
    );
  });

  it("refuses everything once it is sealed or closed, apart from another close", async () => {
    for (const end of ["seal", "close"] as const) {
      const writer = await created(optionsOf(combination));
      append(writer, payloads([10]));
      const ending = writer[end]();
      expect(() => writer.barrier()).toThrow(closed);
      expect(() => writer.close()).toThrow(closed);
      expect(() => appendRegion(writer, region(payloads([1])), 1)).toThrow(
        expect.objectContaining({ code: "ERR_OUT_OF_RANGE" }),
      );
      await ending;
      for (const use of [
        () => writer.barrier(),
        () => writer.reserve(1),
        () => writer.populate(1),
        () => writer.rename("x"),
        () => writer.seal(),
      ]) {
        expect(use).toThrow(closed);
      }
      await expect(writer.close()).resolves.toBeUndefined();
      expect(writer.end).toBe(10 + header);
      expect(writer.file.size()).toBe(10 + header);
    }
  });

  it("is sealed while a barrier and a reservation are under way", async () => {
    const options = optionsOf(combination, { capacity: 64 << 20, reserve: 1 << 20 });
    const writer = await created(options);
    append(writer, payloads([1000]));
    writer.populate(options.capacity);
    const all = await Promise.all([
      writer.barrier(),
      writer.reserve(options.capacity),
      writer.barrier(),
      writer.seal(),
    ]);
    expect(all).toEqual([1000 + header, expect.any(Number), 1000 + header, 1000 + header]);
    expect(contents(options.path)).toEqual(storedRecords(combination.format, payloads([1000])));
  });

  it("does not overwrite a file that is there, nor open one that ends before its records", async () => {
    const options = optionsOf(combination);
    await expect(native.openSegmentWriter({ ...options, end: 0 })).rejects.toMatchObject({
      code: "ENOENT",
      errno: expect.any(Number),
      syscall: "open",
      path: options.path,
    });
    writeFileSync(options.path, "something");
    await expect(native.createSegmentWriter(options)).rejects.toMatchObject({ code: "EEXIST", path: options.path });
    await expect(native.openSegmentWriter({ ...options, end: 10 })).rejects.toMatchObject({ code: "EINVAL" });
    expect(readFileSync(options.path, "utf8")).toBe("something");
  });
});

const tracer = spawnSync("strace", ["-V"]).status === 0;

it.skipIf(!tracer).each(paths)("O07 a barrier that failed on %s is never issued again and called good", (path) => {
  const script = fileURLToPath(new URL("support/failing-barrier.mjs", import.meta.url));
  const dir = tempDir("barrier");
  // The second barrier fails; the third would not.
  const inject = ["-e", "trace=msync,fdatasync", "-e", "inject=msync,fdatasync:error=EIO:when=2"];
  const args = ["-f", "-qq", "-o", "/dev/null", ...inject, process.execPath, script, dir, String(SegmentModeId[path])];
  const { stdout, stderr } = spawnSync("strace", args, { encoding: "utf8" });
  const call = path === "MAPPED" ? "msync" : "fdatasync";
  expect(JSON.parse(stdout || JSON.stringify(stderr))).toEqual([
    "OK",
    "11",
    "OK",
    `EIO ${call}`,
    "status 4 errno 5",
    "EIO barrier",
    "EIO barrier",
    0,
    "undefined",
  ]);
  expect(statSync(join(dir, "a.log")).size).toBe(22);
});

it("many writers force at once and each resolves to its own end", async () => {
  const writers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      created(optionsOf({ path: paths[index % 2] as "MAPPED", format: formats[index % 2] as "plain" })),
    ),
  );
  const ends = writers.map((writer, index) => append(writer, payloads([100 + index])).end);
  expect(await Promise.all(writers.map((writer) => writer.barrier()))).toEqual(ends);
});

it("after small barriers in a row appends and barriers go on over prepared pages", async () => {
  const options = optionsOf({ path: "MAPPED", format: "crc32c" }, { capacity: 8 << 20 });
  const writer = await created(options);
  const all: Uint8Array[] = [];
  for (let round = 0; round < 60; round++) {
    const records = payloads([1 + ((round * 131) % 6000)], round);
    append(writer, records);
    all.push(...records);
    expect(await writer.barrier()).toBe(writer.end);
  }
  await writer.seal();
  expect(contents(options.path)).toEqual(storedRecords("crc32c", all));
});

it.each([
  ["no options", undefined],
  ["a path with a NUL", { path: "a\0b" }],
  ["an empty path", { path: "" }],
  ["a mode that is none", { mode: 2 }],
  ["a format that is none", { format: -1 }],
  ["no room for a record", { capacity: 8 }],
  ["more than the largest segment", { capacity: 2 ** 30 + 1 }],
  ["a capacity that is no integer", { capacity: 1.5 }],
  ["a capacity that is no number", { capacity: Number.NaN }],
  ["an interval of nothing", { indexIntervalBytes: 0 }],
  ["a reservation beyond the capacity", { reserve: 2 ** 20 + 1 }],
  ["an end beyond the capacity", { end: 2 ** 20 + 1 }],
  ["a negative end", { end: -1 }],
])("%s is refused before anything is done", (_, wrong) => {
  const options = optionsOf({ path: "MAPPED", format: "crc32c" });
  const given = wrong === undefined ? undefined : { ...options, end: 0, ...wrong };
  const use = () => native.openSegmentWriter(given as Parameters<typeof native.openSegmentWriter>[0]);
  expect(use).toThrow(expect.objectContaining({ code: expect.stringMatching(/^ERR_/) }));
  if (wrong !== undefined && "end" in wrong) return;
  const create = () => native.createSegmentWriter(given as Parameters<typeof native.createSegmentWriter>[0]);
  expect(create).toThrow(expect.objectContaining({ code: expect.stringMatching(/^ERR_/) }));
});

it("objects of the addon are made by the addon only, and methods want their own object", async () => {
  const writer = await created(optionsOf({ path: "MAPPED", format: "plain" }));
  const typeError = expect.objectContaining({ name: "TypeError" });
  const SegmentWriter = (writer as unknown as { constructor: new () => unknown }).constructor;
  expect(() => new SegmentWriter()).toThrow(typeError);
  const detached = writer.barrier;
  expect(() => detached.call(writer.file as never)).toThrow(typeError);
  expect(() => detached.call({} as never)).toThrow(typeError);
  expect(() => detached.call(undefined as never)).toThrow(typeError);
  expect(() => writer.file.size.call(writer as never)).toThrow(typeError);
  expect(RecordFormatId.plain).toBe(0);
});
