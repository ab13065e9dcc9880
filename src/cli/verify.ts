// `millrace verify`: is what is stored what was acknowledged? And, after a person has read the answer, the repair.

import type { Command } from "commander";
import { systemClock } from "../model/clock.js";
import { counted } from "../model/plural.js";
import type { RepairStep } from "../storage/repair.js";
import type { Finding } from "../storage/verify.js";
import { Failed } from "./failure.js";
import { helpText } from "./help.js";
import type { Io } from "./io.js";
import { Output } from "./output.js";
import { partitionDirs } from "./partition-dirs.js";
import { Progress } from "./progress.js";
import { bytesIn } from "./sizes.js";
import { type Styles, stylesOf } from "./style.js";
import { path } from "./values.js";

interface VerifyVerbOptions {
  readonly repair?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
DIR is a broker's data directory or one partition's. It is read without the lock: a broker may be writing meanwhile, and its end is
shown as it was at that moment. Exits 1 when anything is damaged or cannot be read, each damage named with file, position and offset;
of a segment that holds in part the records up to its break are counted.

--repair takes the partition's lock, so the broker must be stopped. It makes a partition open again that refuses to: what lies behind
a break in the log is moved to .torn files, records with wrong sums stay and are named to their readers. No byte is thrown away but
zeros at a file's end. A partition with a file that cannot be read is left as it is. Read first what verify says.

Examples:
  $ millrace verify millrace-data
  $ millrace verify millrace-data/orders-0 --repair
`;

export function verifyCommand(program: Command, io: Io): void {
  program
    .command("verify")
    .summary("check what is stored")
    .description("Check every segment, index and checksum of a data directory or of one partition.")
    .argument("<dir>", "a broker's data directory, or a partition's", path)
    .option("--repair", "make partitions open again, giving up what cannot be kept")
    .option("--json", "print a JSON value a line")
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((dir: string, options: VerifyVerbOptions) => verify(dir, options, io));
}

/** How much damage there is, and what was left of it. */
interface Tally {
  damages: number;
  unrepaired: number;
  records: number;
  segments: number;
  bytes: number;
}

async function verify(dir: string, options: VerifyVerbOptions, io: Io): Promise<void> {
  const dirs = await partitionDirs(dir);
  const { isIncomplete } = await import("./backup/target.js");
  if (await isIncomplete(dir)) throw new Failed(`${dir} is a backup that was interrupted: remove it and begin anew`);
  const { verifyPartition } = await import("../storage/verify.js");
  const { repairPartition } = await import("../storage/repair.js");
  if (!options.repair) io.stderr.write("millrace: reading without the lock; a broker may be writing meanwhile\n");
  const output = new Output(io.stdout);
  const styles = stylesOf(io);
  const tally: Tally = { damages: 0, unrepaired: 0, records: 0, segments: 0, bytes: 0 };
  const progress = new Progress(io, () => performance.now(), "record");
  const total = await bytesIn(dirs);
  const show = async (step: RepairStep): Promise<void> => {
    count(tally, step);
    progress.show(tally.records, tally.bytes, tally.bytes / Math.max(total, 1));
    output.text(options.json ? `${JSON.stringify(step)}\n` : stepText(step, styles));
    if (output.isFull) await output.handOver();
  };
  const beside = dirs.includes(dir) ? [] : await stepsBeside(dir, dirs, options.repair === true);
  for (const step of beside) await show(step);
  for (const partition of dirs) {
    const steps = options.repair ? repairPartition(partition, systemClock) : verifyPartition(partition);
    for await (const step of steps) await show(step);
  }
  await output.flush();
  progress.clear();
  io.stderr.write(
    `millrace: ${[counted(dirs.length, "partition"), counted(tally.segments, "segment"), counted(tally.records, "record"), counted(tally.damages, "damage")].join(", ")}\n`,
  );
  if (tally.damages === 0) return;
  if (!options.repair)
    throw new Failed(counted(tally.damages, "damage"), [
      "`millrace verify DIR --repair` says what it gives up, see --help",
    ]);
  const left = (await damagesLeft(dirs, verifyPartition)) + beside.filter(({ kind }) => kind === "damage").length;
  if (left + tally.unrepaired > 0) throw new Failed(`left after the repair: ${counted(left, "damage")}`);
}

/** What is wrong with a broker's directory however sound the partitions are that it has. */
async function stepsBeside(dir: string, dirs: readonly string[], repairs: boolean): Promise<RepairStep[]> {
  const { layoutProblem } = await import("../storage/data-dir.js");
  const { IS_MISSING, missingPartitions } = await import("../storage/missing-partitions.js");
  const problem = await layoutProblem(dir);
  const damage = (path: string, what: string, advice: string): RepairStep[] => {
    const found: RepairStep = { kind: "damage", path, position: -1, offset: -1, what };
    return repairs ? [found, { kind: "unrepaired", path, what: advice }] : [found];
  };
  return [
    ...(problem === undefined ? [] : damage(problem.path, problem.what, "a person has to say what this directory is")),
    ...missingPartitions(dirs).flatMap((path) =>
      damage(path, `it ${IS_MISSING}`, "a person has to put it back, or to give up what it had"),
    ),
  ];
}

/** What a repair could not take away: records with wrong sums stay in their places, so that those behind them keep theirs. */
async function damagesLeft(
  dirs: readonly string[],
  verifyPartition: (dir: string) => AsyncIterable<Finding>,
): Promise<number> {
  let left = 0;
  for (const dir of dirs) {
    for await (const { kind } of verifyPartition(dir)) if (kind === "damage") left++;
  }
  return left;
}

function count(tally: Tally, step: RepairStep): void {
  if (step.kind === "damage") tally.damages++;
  else if (step.kind === "unrepaired") tally.unrepaired++;
  else if (step.kind === "segment") {
    tally.segments++;
    tally.records += step.records;
    tally.bytes += step.bytes;
  }
}

function stepText(step: RepairStep, { good, bad, faint }: Styles): string {
  switch (step.kind) {
    case "segment": {
      const what = `${step.path}: ${counted(step.records, "record")}, ${counted(step.bytes, "byte")}`;
      return step.sound ? `${good("ok")}       ${what}\n` : `${bad("in part")}  ${what}\n`;
    }
    case "damage": {
      // A refusal to open names its file itself.
      const what = step.what.replace(`${step.path}: `, "");
      return `${bad("DAMAGED")}  ${step.path}${placeText(step.position, step.offset)}: ${what}\n`;
    }
    case "note":
      return `${faint("note")}     ${step.path}: ${step.what}\n`;
    case "repaired":
      return `${good("repaired")} ${step.path}: ${step.what}\n`;
    case "unrepaired":
      return `${bad("NOT REPAIRED")} ${step.path}: ${step.what}\n`;
  }
}

function placeText(position: number, offset: number): string {
  const parts = [position < 0 ? "" : ` position ${position}`, offset < 0 ? "" : ` offset ${offset}`];
  return parts.join("");
}
