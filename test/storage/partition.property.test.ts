// Random lives of a partition against a model: an array of payloads. Appends of all sizes, forces, rolls, retention, restarts on
// either path, kills, and power cuts that take pages, file lengths and directory entries that were not forced.
//
// MILLRACE_SEED=N replays a run; MILLRACE_RUNS=N makes more of them.

import { closeSync, ftruncateSync, openSync, rmSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RecordFormat } from "../../src/model/record-format.js";
import type { SegmentMode } from "../../src/storage/options.js";
import { ReadOutcome } from "../../src/storage/read-plan.js";
import { classifyFile } from "../../src/storage/segment-name.js";
import { printedSeed, randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";
import { crashCopy, files, sizeOf } from "./support/crash.js";
import { FORMATS, MODES, type Opened, open } from "./support/opened.js";
import { payload } from "./support/records.js";

const seed = printedSeed("partition property");
const numRuns = Number(process.env.MILLRACE_RUNS ?? 12);

const SEGMENT_BYTES = 20_000;
const PAGE = 4096;

type Step =
  | { readonly kind: "append"; readonly sizes: readonly number[] }
  | { readonly kind: "corrupt" }
  | { readonly kind: "force" | "upkeep" | "settle" | "retention" | "roll" }
  | { readonly kind: "restart" | "kill" | "powerCut"; readonly mode: SegmentMode };

const mode = fc.constantFrom(...MODES);
const size = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 300 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 6_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 15_000, max: SEGMENT_BYTES - 8 }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.array(size, { minLength: 1, maxLength: 12 }).map((sizes) => ({ kind: "append" as const, sizes })),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "corrupt" as const }) },
  {
    weight: 10,
    arbitrary: fc
      .constantFrom("force" as const, "upkeep" as const, "settle" as const, "retention" as const, "roll" as const)
      .map((kind) => ({ kind })),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom("restart" as const, "kill" as const, "powerCut" as const), mode)
      .map(([kind, path]) => ({
        kind,
        mode: path,
      })),
  },
);

/** What must be there, and what was promised about it. */
class Model {
  readonly records: Uint8Array[] = [];
  start = 0;
  boot = 0;
  #made = 0;

  /** New records that are like no others, at the end. */
  next(sizes: readonly number[]): Uint8Array[] {
    const made = sizes.map((bytes) => payload(this.#made++, bytes));
    this.records.push(...made);
    return made;
  }
}

async function live(
  format: RecordFormat,
  firstMode: SegmentMode,
  steps: readonly Step[],
  random: () => number,
): Promise<void> {
  const model = new Model();
  let dir = tempDir("life");
  const options = () => ({
    format,
    segmentBytes: SEGMENT_BYTES,
    indexIntervalBytes: 512,
    segmentRollMs: 60_000,
    retentionBytes: 4 * SEGMENT_BYTES,
    deps: { bootId: String(model.boot).padStart(32, "a") },
  });
  let opened = await open(dir, { ...options(), mode: firstMode });
  for (const each of steps) {
    const { log } = opened;
    switch (each.kind) {
      case "append": {
        const base = model.records.length;
        expect(await opened.append(...model.next(each.sizes))).toBe(base);
        break;
      }
      case "corrupt":
        await expect(opened.appendRegion(new Uint8Array(30), 2)).rejects.toThrow();
        break;
      case "force":
        expect(await log.force()).toBe(model.records.length);
        break;
      case "upkeep":
        opened.clock.ms += Math.floor(random() * 3000);
        await log.upkeep();
        break;
      case "settle":
        await log.settled();
        break;
      case "roll":
        opened.clock.ms += 61_000;
        await log.upkeep();
        break;
      case "retention":
        await log.settled();
        await log.applyRetention();
        expect(log.logStartOffset).toBeGreaterThanOrEqual(model.start);
        model.start = log.logStartOffset;
        break;
      case "restart":
        await opened.close();
        opened = await open(dir, { ...options(), mode: each.mode });
        expect(opened.log.recovery.clean).toBe(true);
        break;
      case "kill":
      case "powerCut": {
        // A copy of files that change meanwhile would be of no moment at all; kills at any moment are in killed.test.ts.
        await log.settled();
        const durable = log.durableOffset as number;
        const epoch = log.epoch;
        const copy = crashCopy(dir);
        // As if it had been killed before these were written.
        for (const name of files(copy, ".index")) if (random() < 0.3) rmSync(join(copy, name));
        if (each.kind === "powerCut") {
          model.boot++;
          cutPower(copy, opened, random);
        }
        await opened.close();
        rmSync(dir, { recursive: true });
        dir = copy;
        opened = await open(dir, { ...options(), mode: each.mode });
        const end = opened.log.logEndOffset as number;
        if (each.kind === "kill") {
          expect(end).toBe(model.records.length);
        } else {
          expect(end).toBeGreaterThanOrEqual(durable);
          expect(end).toBeLessThanOrEqual(model.records.length);
          // Whoever read further than this must hear of it.
          for (let seen = end + 1; seen <= model.records.length; seen++) {
            expect(opened.log.truncatedAt(epoch, seen)).toBeLessThanOrEqual(end);
          }
          // A format without sums cannot tell a body that did not reach the disk; what was forced is exact all the same.
          model.records.length = end;
          if (format === "plain") await takeWrongBodies(opened, model, durable);
        }
        expect(opened.log.truncatedAt(epoch, durable)).toBeUndefined();
        break;
      }
    }
    expect(opened.log.logEndOffset).toBe(model.records.length);
    expect(opened.log.logStartOffset).toBe(model.start);
    await checkSome(opened, model, random);
  }
  expect((await opened.readAll()).length).toBe(model.records.length - model.start);
  for (let offset = model.start; offset < model.records.length; offset += 1 + Math.floor(random() * 10)) {
    expect(await opened.read(offset)).toEqual(model.records[offset]);
  }
  await opened.close();
  rmSync(dir, { recursive: true });
}

/** In `plain`, what a power cut left with a wrong body above the durable offset is what the log has from then on. */
async function takeWrongBodies(opened: Opened, model: Model, durable: number): Promise<void> {
  for (let offset = Math.max(durable, opened.log.logStartOffset); offset < opened.log.logEndOffset; offset++) {
    const there = await opened.read(offset);
    expect(there).not.toBeNull();
    model.records[offset] = there!;
  }
}

async function checkSome(opened: Opened, model: Model, random: () => number): Promise<void> {
  const { start } = model;
  const end = model.records.length;
  for (let times = 0; times < 3 && end > start; times++) {
    const offset = start + Math.floor(random() * (end - start));
    expect(await opened.read(offset)).toEqual(model.records[offset]);
  }
  expect((await opened.plan(end)).outcome).toBe(ReadOutcome.EMPTY);
  expect((await opened.plan(end + 1)).outcome).toBe(ReadOutcome.OUT_OF_RANGE);
  if (start > 0) expect((await opened.plan(start - 1)).outcome).toBe(ReadOutcome.OUT_OF_RANGE);
}

/**
 * Takes from a copy what a power cut may take: of everything above the durable place each page for itself, lengths of files,
 * and files whose directory entries were not forced.
 */
function cutPower(copy: string, { log }: Opened, random: () => number): void {
  const durable = log.durableOffset as number;
  const segments = log.segments();
  for (const name of files(copy)) {
    const file = classifyFile(name);
    if (file.kind === "leftover" && random() < 0.5) rmSync(join(copy, name));
    if (file.kind !== "log") continue;
    const segment = segments.find(({ baseOffset }) => baseOffset === file.baseOffset);
    if (segment === undefined || segment.endOffset <= durable) continue;
    const path = join(copy, name);
    // A seal forces the directory, and so the name of the segment that follows, which was there by then.
    const before = segments.find(({ endOffset }) => endOffset === segment.baseOffset);
    const isNamed = before === undefined || before.sealed;
    if (segment.baseOffset >= durable && !isNamed && random() < 0.2) {
      rmSync(path);
      continue;
    }
    const kept = segment.baseOffset >= durable ? 0 : log.bytesBetween(segment.baseOffset, log.durableOffset);
    if (kept < 0) continue;
    losePages(path, kept, random);
  }
}

function losePages(path: string, kept: number, random: () => number): void {
  const size = sizeOf(path);
  const style = random();
  if (style < 0.2) return;
  if (style < 0.5) {
    // The length is older than the bytes, as after delayed allocation.
    truncateSync(path, kept + Math.floor(random() * (size - kept + 1)));
    return;
  }
  const fd = openSync(path, "r+");
  try {
    for (let page = Math.floor(kept / PAGE); page * PAGE < size; page++) {
      if (random() < 0.6) continue;
      const from = Math.max(kept, page * PAGE);
      const to = Math.min(size, (page + 1) * PAGE);
      writeSync(fd, new Uint8Array(to - from), 0, to - from, from);
    }
    if (random() < 0.3) ftruncateSync(fd, kept + Math.floor(random() * (size - kept + 1)));
  } finally {
    closeSync(fd);
  }
}

describe.each(FORMATS)("%s", (format) => {
  it("a partition is its model through appends, rolls, retention, restarts, kills and power cuts", async () => {
    await fc.assert(
      fc.asyncProperty(mode, fc.array(step, { minLength: 1, maxLength: 40 }), fc.nat(), (first, steps, chance) =>
        live(format, first, steps, randomFrom(chance)),
      ),
      { seed, numRuns, endOnFailure: process.env.MILLRACE_NO_SHRINK === "1", interruptAfterTimeLimit: 240_000 },
    );
  }, 300_000);
});
