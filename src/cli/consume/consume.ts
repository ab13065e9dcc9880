// `millrace consume`: partitions to stdout. Reads no faster than stdout takes.

import type { Command } from "commander";
import type { CheckpointPosition } from "../../client/checkpoint/store.js";
import type { Connection } from "../../client/connection.js";
import type { ReadBounds } from "../../client/read-bounds.js";
import type { StartPosition } from "../../client/start-position.js";
import { systemTimers } from "../../model/clock.js";
import { MillraceError } from "../../model/errors.js";
import { CLI_SIGNAL_WAIT_MS, OFFSET_MAX, PARTITIONS_MAX } from "../../model/limits.js";
import { counted } from "../../model/plural.js";
import { integer, size } from "../../ops/settings/kinds.js";
import type { PartitionMetadata, TopicMetadata } from "../../protocol/metadata.js";
import { type BrokerOption, connectTo, onBroker, withBroker } from "../connect.js";
import { Failed, Usage } from "../failure.js";
import { helpText } from "../help.js";
import type { Io } from "../io.js";
import { Output } from "../output.js";
import { Progress } from "../progress.js";
import { StoppedBySignal, type StopSignal, Waiting } from "../stop.js";
import { option, path, topicName } from "../values.js";
import { Bookmark } from "./bookmark.js";
import { type Following, printFollowing } from "./follow.js";
import { Format } from "./format.js";
import { Printer } from "./printer.js";
import { parseFrom } from "./start.js";
import { consumersOf, partsOf, printUntilEnd, recordsIn } from "./until-end.js";

export interface ConsumeVerbOptions extends BrokerOption {
  readonly partition?: number;
  readonly from: StartPosition;
  readonly maxRecords?: number;
  readonly untilEnd?: boolean;
  readonly format: string;
  readonly maxBytes: number;
  readonly checkpoint?: string;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const MAX_BYTES = MIB;
/** Records up to so many bytes are read without being asked for: the broker's own bound for one answer. */
const MAX_BYTES_LIMIT = 64 * MIB;

const EXAMPLES = `
Without --until-end it goes on with what comes, also in partitions that are added, until it is stopped or nobody reads its output: the
broker tells it at once, and when the broker is away it tries again until it is back. --until-end stops where each partition ended when it
started. ^C ends it with whole records, and says how many it printed.

--from takes earliest, latest, an offset (of one partition), or a time: 2026-11-30, 2026-11-30T14:05 (here), 2026-11-30T14:05:00Z,
1796000000000ms. From a time on nothing is left out; a few records from just before it may come, too.

--checkpoint goes on where FILE says and saves there how far it was printed, after that was written: about every second, and at the end,
also by ^C. --from is for partitions that FILE does not know. Whoever is killed prints the
last records again; none is left out. One FILE serves several topics, and one program at a time.

Format: %t topic, %p partition, %o offset, %s payload, %% a percent sign; \\n \\t \\0 and so on.

Examples:
  $ millrace consume orders --until-end > orders.log
  $ millrace consume orders --partition 2 --from 1000 --max-records 10 --format '%p %o %s\\n'
  $ millrace consume orders --from latest | grep --line-buffered refund
  $ millrace consume orders --from 2026-11-30T14:00 --until-end | wc -l
  $ millrace consume orders --checkpoint orders.checkpoint --until-end >> orders.log
`;

export function consumeCommand(program: Command, io: Io): void {
  withBroker(
    program
      .command("consume")
      .summary("print records")
      .description("Print the records of a topic on stdout, verified, in order inside each partition.")
      .argument("<topic>", "what is read", topicName),
  )
    .addOption(option("--partition <n>", "read only this partition", integer(0, PARTITIONS_MAX)))
    .option("--from <where>", "earliest, latest, an offset or a time", parseFrom, "earliest")
    .option("--until-end", "stop at the end instead of waiting for more")
    .addOption(option("--max-records <n>", "stop after so many records", integer(1, OFFSET_MAX)))
    .option("--format <text>", "how each record is printed", "%s\\n")
    .option("--checkpoint <file>", "go on where FILE says, and keep it up to date", path)
    .addOption(option("--max-bytes <size>", "ask for so many bytes at once", size(KIB, 1024 * MIB), MAX_BYTES))
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((topic: string, options: ConsumeVerbOptions) => {
      // What is wrong with the command line is said also where no broker is.
      const format = new Format(options.format);
      return onBroker(options, io, (connection) => consume(connection, topic, format, options, io));
    });
}

async function consume(
  connection: Connection,
  name: string,
  format: Format,
  options: ConsumeVerbOptions,
  io: Io,
): Promise<void> {
  const [topic] = await connection.metadata([name]);
  const output = new Output(io.stdout);
  const bookmark = options.checkpoint === undefined ? undefined : new Bookmark(options.checkpoint, name, output);
  const reading = { connection, topic, chosen: chosenOf(topic, options), kept: (await bookmark?.load()) ?? [] };
  const progress = new Progress(io, () => performance.now(), "record");
  const printer = new Printer(format, output, progress, options.maxRecords ?? Number.POSITIVE_INFINITY, bookmark);
  const work = options.untilEnd
    ? await readUntilEnd(reading, options, printer, bookmark)
    : () => printFollowing(followingOf(reading, options, bookmark, io), printer, io.stderr);
  try {
    await untilStopped(work, printer, io);
  } catch (error) {
    throw bookmark === undefined ? error : withCheckpoint(error, bookmark.path);
  } finally {
    progress.clear();
  }
  if (options.untilEnd) progress.done(printer.records, printer.bytes, "read");
}

/** What is read, and where it was left the last time. */
interface Reading {
  readonly connection: Connection;
  readonly topic: TopicMetadata;
  readonly chosen: readonly PartitionMetadata[];
  readonly kept: readonly CheckpointPosition[];
}

const boundsOf = ({ maxBytes }: ConsumeVerbOptions): ReadBounds => {
  return { maxBytes, maxBytesLimit: Math.max(maxBytes, MAX_BYTES_LIMIT) };
};

/** Finds out what there is to be printed, and gives what prints it. */
async function readUntilEnd(
  { connection, topic, chosen, kept }: Reading,
  options: ConsumeVerbOptions,
  printer: Printer,
  bookmark: Bookmark | undefined,
): Promise<() => Promise<void>> {
  const starts = new Map(kept.map(({ partition, offset, epoch }) => [partition, { offset, epoch }]));
  const parts = await partsOf(connection, topic.topic, chosen, options.from, starts);
  printer.expect(recordsIn(parts));
  const consumers = consumersOf(connection, topic, parts, boundsOf(options));
  for (const { metadata, start } of parts) bookmark?.begin(metadata.partition, start);
  return () => printUntilEnd(consumers, printer, kept.length > 0);
}

function followingOf(
  { connection, topic, chosen, kept }: Reading,
  options: ConsumeVerbOptions,
  bookmark: Bookmark | undefined,
  io: Io,
): Following {
  // There is one already.
  let first: Connection | undefined = connection;
  const connect = async (): Promise<Connection> => {
    const connected = first ?? (await connectTo(options, io));
    first = undefined;
    return connected;
  };
  return {
    backend: { address: connection.address, connect },
    topic: topic.topic,
    partitions: chosen.map(({ partition }) => partition),
    isNamed: options.partition !== undefined,
    options: { from: options.from, ...boundsOf(options) },
    store: bookmark?.storeOf(kept),
  };
}

/** Lets it print until it is done or a signal comes. What was printed is written in any case, after a signal as far as it goes. */
async function untilStopped(work: () => Promise<void>, printer: Printer, io: Io): Promise<void> {
  const waiting = new Waiting();
  let signal: StopSignal | undefined;
  let isWritten = false;
  const unheard = io.onStopSignal((which) => {
    signal ??= which;
    printer.stop();
    waiting.interrupt();
  });
  const whole = async (): Promise<void> => {
    const ended = printer.end().then(() => {
      isWritten = true;
    });
    const flushed = waiting.for(ended);
    // Whoever reads slowly gets whole lines; whoever does not read at all is not waited for.
    const cancel = signal && systemTimers.after(CLI_SIGNAL_WAIT_MS, () => waiting.interrupt());
    await flushed;
    cancel?.();
  };
  try {
    try {
      await waiting.for(work());
    } finally {
      // What was read before a failure is good and is printed.
      await whole();
    }
    if (signal !== undefined) throw new StoppedBySignal(signal, [printedText(printer, isWritten)]);
  } finally {
    unheard();
  }
}

/** Whoever pipes it on learns whether what was taken up is all there. */
function printedText({ records }: Printer, isWritten: boolean): string {
  const taken = counted(records, "record");
  return isWritten ? `printed ${taken}` : `took up ${taken}, and could not write all of it: nobody reads the output`;
}

/** The partitions that are read. Throws {@link Failed} and {@link Usage} where there are none, or where they cannot begin so. */
function chosenOf(
  { topic, partitions }: TopicMetadata,
  { partition: only, from }: ConsumeVerbOptions,
): readonly PartitionMetadata[] {
  const chosen = partitions.filter(({ partition }) => only === undefined || partition === only);
  if (chosen.length === 0) {
    throw new Failed(`topic ${topic} has no partition ${only}: it has ${partitions.length}, from 0 on`);
  }
  if (typeof from !== "number") return chosen;
  if (chosen.length > 1) {
    throw new Usage(
      `--from with an offset needs --partition: topic ${topic} has ${counted(chosen.length, "partition")}`,
    );
  }
  for (const metadata of chosen) checkIsThere(from, topic, metadata);
  return chosen;
}

/** A position that was kept and is not in the log any more: --from would not be heard. */
function withCheckpoint(error: unknown, path: string): unknown {
  const isGone =
    error instanceof MillraceError && (error.code === "LOG_TRUNCATED" || error.code === "OFFSET_OUT_OF_RANGE");
  if (!isGone) return error;
  return new Failed(error.message, [
    `the position is kept in ${path}: change it there, or remove it to begin with --from`,
  ]);
}

/** Also where nothing would be read: an offset that the log never had is a mistake, and not its end. */
function checkIsThere(from: number, topic: string, partition: PartitionMetadata): void {
  const { logStartOffset, logEndOffset, highWatermark } = partition;
  // One that is not open says so itself.
  if (highWatermark < 0 || (from >= logStartOffset && from <= logEndOffset)) return;
  const text =
    `OFFSET_OUT_OF_RANGE, offset ${from} is not in ${topic}-${partition.partition}: ` +
    `it starts at ${logStartOffset} and ends at ${logEndOffset}`;
  throw new MillraceError("OFFSET_OUT_OF_RANGE", text);
}
