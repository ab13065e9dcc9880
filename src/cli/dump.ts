// `millrace dump`: the records of a segment, as they lie there.

import { stat } from "node:fs/promises";
import { type Command, Option } from "commander";
import { MillraceError } from "../model/errors.js";
import { counted } from "../model/plural.js";
import { RECORD_FORMATS, type RecordFormat } from "../model/record-format.js";
import { integer } from "../ops/settings/kinds.js";
import type { DumpItem } from "../storage/dump.js";
import { Failed } from "./failure.js";
import { helpText } from "./help.js";
import type { Io } from "./io.js";
import { Output } from "./output.js";
import { notThere, partitionDirs } from "./partition-dirs.js";
import { Progress } from "./progress.js";
import { bytesIn } from "./sizes.js";
import { option, path } from "./values.js";

interface DumpVerbOptions {
  readonly head: number;
  readonly format?: RecordFormat;
  readonly json?: boolean;
}

const HEAD_BYTES = 48;
const HEAD_BYTES_MAX = 1024 * 1024;

const EXAMPLES = `
FILE is a segment (…/orders-0/00000000000000000000.log), DIR a partition's directory or a broker's data directory. They are read
without the lock: a broker may be writing meanwhile. A sum that does not match its payload is followed by an exclamation mark.
A file that cannot be read is named, those behind it follow, and it exits 1.

Examples:
  $ millrace dump millrace-data/orders-0 | tail
  $ millrace dump millrace-data/orders-0/00000000000000000000.log --head 200
`;

export function dumpCommand(program: Command, io: Io): void {
  program
    .command("dump")
    .summary("show stored records")
    .description(
      "Show the records of a segment file, a partition or a data directory: offset, position, length, sum, payload.",
    )
    .argument("<file|dir>", "a segment, a partition's directory or a broker's", path)
    .addOption(option("--head <bytes>", "how much of each payload is shown", integer(0, HEAD_BYTES_MAX), HEAD_BYTES))
    .addOption(
      new Option("--format <format>", "for a segment without partition.json beside it").choices(RECORD_FORMATS),
    )
    .option("--json", "print a JSON value a line")
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((path: string, options: DumpVerbOptions) => dumpAll(path, options, io));
}

async function dumpAll(path: string, options: DumpVerbOptions, io: Io): Promise<void> {
  const stats = await stat(path).catch((error) => {
    throw notThere(path, error, "a segment, a partition's directory or a broker's");
  });
  const { size } = stats;
  const isDirectory = stats.isDirectory();
  const paths = isDirectory ? await partitionDirs(path) : [path];
  const { dump } = await import("../storage/dump.js");
  io.stderr.write("millrace: reading without the lock; a broker may be writing meanwhile\n");
  const output = new Output(io.stdout);
  const progress = new Progress(io, () => performance.now(), "record");
  const total = isDirectory ? await bytesIn(paths) : size;
  let [records, bytes, unreadable] = [0, 0, 0];
  for (const each of paths) {
    const items = dump(each, { headBytes: options.head, format: options.format });
    for await (const item of paths.length > 1 ? orWhy(items, each) : withAdvice(items)) {
      output.text(options.json ? `${JSON.stringify(jsonOf(item))}\n` : itemText(item));
      if (item.kind === "unreadable") unreadable++;
      if (item.kind === "record") {
        records++;
        bytes += item.length;
      }
      if (!output.isFull) continue;
      progress.show(records, bytes, bytes / Math.max(total, 1));
      await output.handOver();
    }
  }
  await output.flush();
  progress.done(records, bytes, "shown:");
  if (unreadable > 0) throw new Failed(`${counted(unreadable, "file")} could not be read, see above`);
}

/** What the storage wants to be told is an option here. */
async function* withAdvice(items: AsyncIterable<DumpItem>): AsyncGenerator<DumpItem, void, undefined> {
  try {
    yield* items;
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== "BAD_ARGUMENT") throw error;
    throw new Failed(error.message, [
      "`--format crc32c` or `--format plain` names it; it was the setting record.format of the topic, crc32c by default",
    ]);
  }
}

/** One partition that does not say how its records lie, or cannot be opened, must not hide those behind it. */
async function* orWhy(items: AsyncIterable<DumpItem>, path: string): AsyncGenerator<DumpItem, void, undefined> {
  try {
    yield* items;
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error;
    yield { kind: "unreadable", path, what: error.message };
  }
}

function itemText(item: DumpItem): string {
  switch (item.kind) {
    case "segment": {
      const { path, baseOffset, bytes, format } = item;
      const titles = ["offset".padStart(12), "position".padStart(12), "length".padStart(9), "sum      ", "payload"];
      return `# ${path}: from offset ${baseOffset}, ${counted(bytes, "byte")}, ${format}\n${titles.join("  ")}\n`;
    }
    case "record": {
      const { offset, position, length, sum, sumMatches, head } = item;
      const sumText = sum === undefined ? "-" : sum.toString(16).padStart(8, "0") + (sumMatches === false ? "!" : "");
      const more = head.length < length ? "…" : "";
      const columns = [
        String(offset).padStart(12),
        String(position).padStart(12),
        String(length).padStart(9),
        sumText.padEnd(9),
      ];
      return `${columns.join("  ")}  ${printable(head)}${more}\n`;
    }
    case "unreadable":
      return `# ${item.path} cannot be read: ${item.what}\n`;
    case "end": {
      const rest =
        item.tailBytes === 0 ? "" : `, then ${counted(item.tailBytes, "byte")} that are no records (${item.tail})`;
      return `# end at offset ${item.offset}, position ${item.position}${rest}\n`;
    }
  }
}

const jsonOf = (item: DumpItem): object =>
  item.kind === "record" ? { ...item, head: Buffer.from(item.head).toString("base64") } : item;

/** Text as it is; what would move a terminal's cursor, and bytes that are no UTF-8, as escapes. */
function printable(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString();
  if (text.includes("\ufffd"))
    return Buffer.from(bytes)
      .toString("latin1")
      .replace(/[^\x20-\x7e]/g, escaped);
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\]/gu, escaped);
}

function escaped(character: string): string {
  if (character === "\\") return "\\\\";
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}
