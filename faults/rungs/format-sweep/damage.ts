// Ways to damage a partition's files, each small enough to be written down and done again, and all of them for one shape.

import type { Random } from "../../lib/random.js";
import { isSealed, readCheckpoint, walkSegment, withPlace } from "./model.js";
import type { Shape } from "./shapes.js";
import { type KeptFile, logsOf, type Snapshot } from "./snapshot.js";

export type How = "zero" | "garble" | "older";
const HOWS: readonly How[] = ["zero", "garble", "older"];

export interface Hit {
  readonly file: string;
  readonly sector: number;
  readonly how: How;
}

/** What became of the checkpoint at the same time: a cut of power takes its last write as well. */
export type Fate = "older" | "gone";

const CHECKPOINT = "checkpoint";

export type Damage =
  /** The file ends here. */
  | { readonly kind: "cut"; readonly file: string; readonly at: number; readonly checkpoint?: Fate }
  /** Zeros from here to its end, as of a file that got its length and not its bytes. */
  | { readonly kind: "zeros"; readonly file: string; readonly at: number; readonly checkpoint?: Fate }
  | { readonly kind: "flip"; readonly file: string; readonly bit: number; readonly touched?: true }
  /** Nothing but its time, as of a copy. */
  | { readonly kind: "touch"; readonly file: string }
  | { readonly kind: "sectors"; readonly hits: readonly Hit[] }
  /** The file as it was before the last batch; gone, if it was not there. */
  | { readonly kind: "older"; readonly file: string }
  | { readonly kind: "remove"; readonly file: string }
  /** Whole, and its place lies so many bytes beside, as that of another partition. */
  | { readonly kind: "misplace"; readonly file: typeof CHECKPOINT; readonly by: number };

export const SECTOR_BYTES = 512;
/** How much later a file was touched than it was closed, in seconds. */
const TOUCHED_S = 60;
/** Of an `.index`: its entries follow. */
const INDEX_HEADER_BYTES = 72;
/** No record is so short that another one begins there. */
const BESIDE = [-1, 1];

export const shownDamage = (damage: Damage): string =>
  damage.kind === "sectors"
    ? damage.hits.map(({ file, sector, how }) => `${how} sector ${sector} of ${file}`).join(" and ")
    : `${damage.kind} ${"at" in damage ? `${damage.at} ` : "bit" in damage ? `${damage.bit} ` : "by" in damage ? `${damage.by} ` : ""}of ${damage.file}${fateOf(damage) === undefined ? "" : `, checkpoint ${fateOf(damage)}`}${isTouched(damage) ? ", touched" : ""}`;

export const fateOf = (damage: Damage): Fate | undefined => ("checkpoint" in damage ? damage.checkpoint : undefined);

/** Whether its file has another time than it was given at a clean stop. */
export const isTouched = (damage: Damage): boolean => "touched" in damage;

/** It concerns a whole file, so there are few like it. */
export const isRare = ({ kind }: Damage): boolean =>
  kind === "older" || kind === "remove" || kind === "touch" || kind === "misplace";

/** The same for all damages of a shape that are alike: of one kind, in one part of one file. */
export function groupOf(shape: Shape, damage: Damage): string {
  if (damage.kind === "sectors") return `${damage.hits.length} sectors of ${filesOf(damage).join()}`;
  const { kind, file } = damage;
  const at = firstByte(damage, file) ?? 0;
  const inIndex = at < INDEX_HEADER_BYTES ? "header" : "entries";
  const inLog = (): string => (at < lastBatchFrom(shape, file) ? "before" : "last batch");
  const part = isRare(damage) ? "" : file.endsWith(".index") ? inIndex : file.endsWith(".log") ? inLog() : "";
  return `${kind} ${file} ${part} ${fateOf(damage)} ${isTouched(damage)}`;
}

export function filesOf(damage: Damage): string[] {
  return damage.kind === "sectors" ? damage.hits.map(({ file }) => file) : [damage.file];
}

/** The first byte of a file that may be another, or undefined when the damage is elsewhere. */
export function firstByte(damage: Damage, file: string): number | undefined {
  if (!filesOf(damage).includes(file)) return undefined;
  switch (damage.kind) {
    case "cut":
    case "zeros":
      return damage.at;
    case "flip":
      return damage.bit >> 3;
    case "sectors":
      return SECTOR_BYTES * Math.min(...damage.hits.filter((hit) => hit.file === file).map(({ sector }) => sector));
    case "older":
    case "remove":
      return 0;
    case "touch":
    case "misplace":
      return undefined;
  }
}

export function applyDamage({ before, after }: Shape, damage: Damage, random: Random): Snapshot {
  const files = new Map(after);
  if (damage.kind === "sectors") {
    for (const { file, sector, how } of damage.hits) {
      const kept = files.get(file)!;
      const bytes = Uint8Array.from(kept.bytes);
      const from = sector * SECTOR_BYTES;
      const part = bytes.subarray(from, from + SECTOR_BYTES);
      part.set(sectorOf(how, part.length, before.get(file)?.bytes, from, random));
      files.set(file, { ...kept, bytes });
    }
    return files;
  }
  applyToFile(damage, before, files);
  const fate = fateOf(damage);
  if (fate !== undefined) {
    applyToFile({ kind: fate === "older" ? "older" : "remove", file: CHECKPOINT }, before, files);
  }
  return files;
}

function applyToFile(
  damage: Exclude<Damage, { kind: "sectors" }>,
  before: Snapshot,
  files: Map<string, KeptFile>,
): void {
  const { file } = damage;
  const bytes = Uint8Array.from(files.get(file)!.bytes);
  const change = (changed: Uint8Array): void => {
    files.set(file, { ...files.get(file)!, bytes: changed });
  };
  const touch = (): void => {
    const kept = files.get(file)!;
    files.set(file, { ...kept, mtime: kept.mtime + TOUCHED_S });
  };
  switch (damage.kind) {
    case "cut":
      change(bytes.subarray(0, damage.at));
      break;
    case "zeros":
      change(bytes.fill(0, damage.at));
      break;
    case "flip":
      bytes[damage.bit >> 3] ^= 1 << (damage.bit & 7);
      change(bytes);
      if (isTouched(damage)) touch();
      break;
    case "touch":
      touch();
      break;
    case "older": {
      const older = before.get(file);
      if (older === undefined) files.delete(file);
      else files.set(file, older);
      break;
    }
    case "remove":
      files.delete(file);
      break;
    case "misplace":
      change(withPlace(bytes, (readCheckpoint(files.get(file))?.position ?? 0) + damage.by));
      break;
  }
}

/** What a sector holds instead. A file that was shorter then had zeros there, as far as the disk knows. */
function sectorOf(how: How, length: number, older: Uint8Array | undefined, from: number, random: Random): Uint8Array {
  if (how === "garble") return random.bytes(length);
  const bytes = new Uint8Array(length);
  if (how === "older" && older !== undefined) bytes.set(older.subarray(from, from + length));
  return bytes;
}

/** All of it, for one shape. */
export function damagesOf(shape: Shape): Damage[] {
  return [...shape.after.keys()]
    .flatMap((file) => (file.endsWith(".log") ? ofLog(shape, file) : ofFile(shape, file)))
    .concat(pairsOf(shape));
}

/** Where the records of a segment end. */
const endOf = ({ after, format }: Shape, file: string): number => walkSegment(after.get(file)!.bytes, format).end;

function ofLog(shape: Shape, file: string): Damage[] {
  const { bytes } = shape.after.get(file)!;
  const end = endOf(shape, file);
  const from = lastBatchFrom(shape, file);
  const all: Damage[] = [];
  for (let at = 0; at <= end; at++) {
    all.push({ kind: "cut", file, at });
    if (bytes.length > end) all.push({ kind: "zeros", file, at });
    // What is sealed was forced, and so was the checkpoint behind it: no cut of power takes both.
    if (at < from || !shape.after.has(CHECKPOINT) || isSealed(shape.after, file)) continue;
    for (const checkpoint of ["older", "gone"] as const) all.push({ kind: "cut", file, at, checkpoint });
  }
  // Every bit of the last batch, and one of each byte before it.
  for (let at = 0; at < end; at++) {
    for (let bit = 0; bit < 8; bit++) {
      if (at >= from || bit === at % 8) all.push({ kind: "flip", file, bit: at * 8 + bit });
    }
  }
  for (let sector = 0; sector * SECTOR_BYTES < end; sector++) {
    for (const how of HOWS) all.push({ kind: "sectors", hits: [{ file, sector, how }] });
  }
  all.push({ kind: "older", file }, { kind: "remove", file });
  if (wasClosed(shape, file)) {
    all.push({ kind: "touch", file });
    for (let at = 0; at < end; at++) all.push({ kind: "flip", file, bit: at * 8 + (at % 8), touched: true });
  }
  return all;
}

/** Whether it is the last segment of a log that was stopped cleanly. */
export const wasClosed = ({ after }: Shape, file: string): boolean =>
  file === logsOf(after).at(-1) && isSealed(after, file);

/** Asked for each of a million damages, and each answer is a walk over a segment. */
const lastBatches = new WeakMap<Shape, Map<string, number>>();

/** Position in a segment from which on it holds the last batch; its end when it holds nothing of it. */
export function lastBatchFrom(shape: Shape, file: string): number {
  const known = lastBatches.get(shape) ?? new Map<string, number>();
  lastBatches.set(shape, known);
  const before = known.get(file);
  if (before !== undefined) return before;
  const { positions, end } = walkSegment(shape.after.get(file)!.bytes, shape.format);
  const base = Number(file.slice(0, 20));
  const from = shape.lastBatch <= base ? 0 : (positions[shape.lastBatch - base] ?? end);
  known.set(file, from);
  return from;
}

/** Sectors of the last batch in pairs, over its segments. */
function pairsOf(shape: Shape): Damage[] {
  const sectors = logsOf(shape.after).flatMap((file) => {
    const end = endOf(shape, file);
    const from = lastBatchFrom(shape, file);
    const first = Math.floor(from / SECTOR_BYTES);
    const count = from >= end ? 0 : Math.ceil(end / SECTOR_BYTES) - first;
    return Array.from({ length: count }, (_, at) => ({ file, sector: first + at }));
  });
  return sectors.flatMap((one, at) =>
    sectors.slice(at + 1).flatMap((other) =>
      HOWS.flatMap((how) =>
        HOWS.map(
          (otherHow): Damage => ({
            kind: "sectors",
            hits: [
              { ...one, how },
              { ...other, how: otherHow },
            ],
          }),
        ),
      ),
    ),
  );
}

/** The index, the checkpoint, partition.json, a prepared segment: cut everywhere, each bit of what is used, each sector. */
function ofFile({ after }: Shape, file: string): Damage[] {
  const { bytes } = after.get(file)!;
  const all: Damage[] = [
    { kind: "older", file },
    { kind: "remove", file },
  ];
  if (file === CHECKPOINT && (readCheckpoint(after.get(file))?.position ?? 0) > 1) {
    for (const by of BESIDE) all.push({ kind: "misplace", file, by });
  }
  for (let at = 0; at <= bytes.length; at++) {
    // Zeros are cut and flipped in fewer places: they are all alike.
    const dull = bytes[at] === 0 && bytes[at - 1] === 0 && bytes[at + 1] === 0 && at % 64 !== 0;
    if (dull) continue;
    all.push({ kind: "cut", file, at });
    if (at === bytes.length) continue;
    all.push({ kind: "zeros", file, at });
    for (let bit = 0; bit < 8; bit++) all.push({ kind: "flip", file, bit: at * 8 + bit });
  }
  for (let sector = 0; sector * SECTOR_BYTES < bytes.length; sector++) {
    for (const how of HOWS) all.push({ kind: "sectors", hits: [{ file, sector, how }] });
  }
  return all;
}
