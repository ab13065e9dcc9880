// Numbers as the console shows them, and what people type into its search fields.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  bytes,
  count,
  dateTime,
  exact,
  milliseconds,
  offsetText,
  percent,
  plural,
  span,
} from "../../console/src/lib/format.js";
import { parseOffset, parsePartitions, parseTime, readTime } from "../../console/src/lib/parse.js";

const zone = process.env.TZ;
beforeAll(() => {
  process.env.TZ = "Europe/Berlin";
});
afterAll(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

describe("a number is shown", () => {
  it.each([
    [0, "0"],
    [7, "7"],
    [0.5, "0.5"],
    [9_999, "9,999"],
    [12_345, "12.3 k"],
    [99_960, "100 k"],
    [999_600, "1 M"],
    [1_234_567, "1.23 M"],
  ])("as a count: %d is %s", (value, text) => expect(count(value)).toBe(text));

  it.each([
    [-1, "–"],
    [0, "0 B"],
    [1023, "1,023 B"],
    [1024, "1 KiB"],
    [1536, "1.5 KiB"],
    [128 * 1024 ** 2, "128 MiB"],
    [1024 ** 2 - 1, "1 MiB"],
    [76.4 * 1024 ** 3, "76.4 GiB"],
  ])("as bytes: %d is %s", (value, text) => expect(bytes(value)).toBe(text));

  it.each([
    [0, "0 ms"],
    [0.016, "16 µs"],
    [0.9999, "1 ms"],
    [3.456, "3.46 ms"],
    [225.1, "225 ms"],
    [999.7, "1 s"],
    [2500, "2.5 s"],
  ])("as a time: %d ms is %s", (value, text) => expect(milliseconds(value)).toBe(text));

  it.each([
    [0, "0 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [312_000, "5 min 12 s"],
    [7_200_000, "2 h"],
    [273_600_000, "3 d 4 h"],
  ])("as a span: %d ms is %s", (value, text) => expect(span(value)).toBe(text));

  it("in full where it is an offset, as large as it gets", () => {
    expect(exact(Number.MAX_SAFE_INTEGER)).toBe("9,007,199,254,740,991");
    expect([offsetText(-1), offsetText(0)]).toEqual(["–", "0"]);
  });

  it("with its noun, and as a share", () => {
    expect([plural(1, "record"), plural(2_000, "record"), plural(0, "is", "are")]).toEqual([
      "1 record",
      "2,000 records",
      "0 are",
    ]);
    expect([percent(0), percent(0.1234), percent(1)]).toEqual(["0 %", "12.3 %", "100 %"]);
  });
});

describe("a search field takes", () => {
  it.each([
    ["0", 0],
    [" 1234 ", 1234],
    ["9,007,199,254,740,991", Number.MAX_SAFE_INTEGER],
    ["1 234_567", 1_234_567],
  ])("the offset %j", (text, value) => expect(parseOffset(text)).toBe(value));

  it.each(["", "-1", "1e3", "0x10", "9007199254740992", "12,", "twelve"])("no offset %j", (text) =>
    expect(parseOffset(text)).toBeUndefined(),
  );

  const now = Date.parse("2026-07-01T12:00:00Z");
  it.each([
    ["15m", now - 900_000],
    ["-15m", now - 900_000],
    ["1.5h ago", now - 5_400_000],
    ["2 d", now - 172_800_000],
    ["30s", now - 30_000],
    ["1782907200000", 1_782_907_200_000],
    ["2026-01-31T12:00:00Z", Date.parse("2026-01-31T12:00:00Z")],
    ["2026-01-31T12:00:00+05:00", Date.parse("2026-01-31T07:00:00Z")],
    // Without a zone the reader's own: summer and winter.
    ["2026-01-31 12:00", Date.parse("2026-01-31T11:00:00Z")],
    ["2026-06-30", Date.parse("2026-06-29T22:00:00Z")],
    ["9:05", Date.parse("2026-07-01T07:05:00Z")],
    ["14:05:30.5", Date.parse("2026-07-01T12:05:30.500Z")],
  ])("the time %j", (text, ms) => expect(parseTime(text, now)).toBe(ms));

  it.each(["", "soon", "25:00", "2026-13-01", "12", "15x", "1969-01-01"])("no time %j", (text) =>
    expect(parseTime(text, now)).toBeUndefined(),
  );

  it.each([
    ["2026-02-30 14:05", "There is no 2026-02-30."],
    ["2026-02-29", "There is no 2026-02-29."],
    ["2026-04-31T00:00:00Z", "There is no 2026-04-31."],
    ["2026-13-01", "There is no 2026-13-01."],
    ["2026-03-29 02:30", "There is no 02:30 on 2026-03-29 in your time zone: clocks are put forward."],
    ["2026-01-31 25:00", expect.stringMatching(/^Write 2026-01-31 14:05, /)],
    ["soon", expect.stringMatching(/^Write 2026-01-31 14:05, /)],
    ["99999d", expect.stringMatching(/^Write 2026-01-31 14:05, /)],
  ])("no time %j, and says why", (text, why) => expect(readTime(text, now)).toEqual({ why }));

  it.each([
    ["2028-02-29 00:00", "2028-02-28T23:00:00Z"],
    ["2026-01-31 24:00", "2026-01-31T23:00:00Z"],
    ["2026-03-29 03:00", "2026-03-29T01:00:00Z"],
    // In autumn an hour is there twice.
    ["2026-10-25 02:30", "2026-10-25T00:30:00Z"],
    ["2026-03-29T02:30:00Z", "2026-03-29T02:30:00Z"],
  ])("the time %j, which exists", (text, iso) => expect(parseTime(text, now)).toBe(Date.parse(iso)));

  it("what dateTime shows", () => {
    expect(dateTime(now)).toBe("2026-07-01 14:00:00");
    expect(parseTime(dateTime(now), 0)).toBe(now);
  });

  it("numbers of partitions and ranges of them", () => {
    expect(parsePartitions("7, 0-2,1")).toEqual([0, 1, 2, 7]);
    expect(parsePartitions("")).toEqual([]);
    for (const wrong of ["a", "3-1", "-1", "1--2", "123456"]) expect(parsePartitions(wrong), wrong).toBeUndefined();
  });
});
