// A text log of a million lines, made from what logs and documents this machine has: numbered, so that no two lines are the
// same, of several hundred lengths, with UTF-8, and with lines of a hundred kilobytes and of megabytes among them.

import { once } from "node:events";
import { createWriteStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../src/native/load.js";

export const LINES = 1_000_000;
const SOURCE_LINES_MAX = 50_000;
const LONG_EVERY = 20_000;
const LONG_BYTES = 100_000;
const HUGE_LINES = [123_456, 654_321, 999_999];
const HUGE_BYTES = 3_000_000;

/** What is always there, whatever the machine's logs look like. */
const UTF8 = [
  "zażółć gęślą jaźń",
  "съешь ещё этих мягких французских булок",
  "ร้าน-ครัว",
  "🪵 line with a log",
  "\t tab and\r",
  "\u0000",
];

export interface Input {
  readonly path: string;
  /** Where each line begins, and where the file ends: LINES + 1 numbers. */
  readonly starts: Float64Array;
  readonly lengths: ReadonlySet<number>;
}

export async function writeInput(path: string): Promise<Input> {
  const source = sourceLines();
  const starts = new Float64Array(LINES + 1);
  const lengths = new Set<number>();
  const file = createWriteStream(path, { highWaterMark: 1 << 20 });
  let piece: Buffer[] = [];
  let pieceBytes = 0;
  for (let i = 0; i < LINES; i++) {
    const line = Buffer.from(`${i + 1} ${bodyOf(i, source)}\n`);
    lengths.add(line.length);
    starts[i + 1] = starts[i] + line.length;
    piece.push(line);
    pieceBytes += line.length;
    if (pieceBytes > 1 << 20 || i === LINES - 1) {
      if (!file.write(Buffer.concat(piece))) await once(file, "drain");
      piece = [];
      pieceBytes = 0;
    }
  }
  file.end();
  await once(file, "close");
  return { path, starts, lengths };
}

function bodyOf(i: number, source: readonly string[]): string {
  const line = source[i % source.length];
  const repeated = (bytes: number) => line.repeat(Math.ceil(bytes / Math.max(line.length, 1))).slice(0, bytes);
  if (HUGE_LINES.includes(i)) return repeated(HUGE_BYTES);
  if (i % LONG_EVERY === LONG_EVERY - 1) return repeated(LONG_BYTES);
  // Whatever the machine's logs look like, several hundred lengths.
  return i % 3 === 0 ? repeated((i / 3) % 800) : line;
}

function sourceLines(): string[] {
  const lines = [...UTF8];
  for (const path of [
    ...textsBelow("/var/log", 4),
    ...textsBelow(packageRoot(), 1),
    ...textsBelow("/usr/share/doc", 2),
  ]) {
    if (lines.length >= SOURCE_LINES_MAX) break;
    lines.push(
      ...readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line !== "" && line.length < 4000)
        .slice(0, 10_000),
    );
  }
  return lines;
}

/** Files that look like text, in the order of their names. */
function* textsBelow(dir: string, depth: number): Generator<string> {
  if (depth === 0 || !existsSync(dir)) return;
  for (const entry of readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) yield* textsBelow(path, depth - 1);
    else if (entry.isFile() && /(\.log|\.json|\.md|copyright)$/.test(entry.name) && statSync(path).size < 20_000_000)
      yield path;
  }
}
