// `millrace produce`: its options, and what has to be known of the topic before anything is read. The work is run.ts's.

import { type Command, Option } from "commander";
import type { Connection } from "../../client/connection.js";
import { PARTITIONS_MAX, PRODUCE_RETRY_MS } from "../../model/limits.js";
import { duration, integer, size } from "../../ops/settings/kinds.js";
import { onBroker, withBroker } from "../connect.js";
import { Failed, Usage } from "../failure.js";
import { FRAMINGS } from "../framing.js";
import { helpText } from "../help.js";
import type { Io } from "../io.js";
import { option, topicName } from "../values.js";
import { parseRate } from "./pace.js";
import { interrupted } from "./report.js";
import { ACKS, ProduceRun, type ProduceVerbOptions } from "./run.js";

const KIB = 1024;
const MIB = 1024 * KIB;
const BATCH_BYTES = 256 * KIB;
const LINGER_MS = 5;

const EXAMPLES = `
Each line of stdin is a record. Without --partition and --key-separator batches go round robin, each as a whole to one partition: a short
input is one batch, so that all of it is in one partition.
What a partition gets keeps its order and has no holes: one request of it is on its way at a time, with all that waits up to
2 MiB. A batch that is refused for now (LOG_FULL, OVERLOADED) is sent again for a while, --retry-for; then nothing more is sent.

When it stops early, also by ^C, it says which input lines are acknowledged, refused, unknown or not sent, by partition, and which
line to go on from. ^C waits for open answers, up to 3 seconds; a second one does not.

Examples:
  $ millrace produce orders < orders.log
  $ tail -F app.log | millrace produce logs --ack written --skip-empty
  $ printf 'user-17\\tlogin\\n' | millrace produce events --key-separator '\\t'
  $ echo 00ff10 | millrace produce blobs --framing hex --print-offsets
`;

export function produceCommand(program: Command, io: Io): void {
  withBroker(
    program
      .command("produce")
      .summary("append records from stdin")
      .description("Append records from stdin to a topic, in order, and wait until they are on the broker's disk.")
      .argument("<topic>", "where they go", topicName),
  )
    .addOption(option("--partition <n>", "send everything to this partition", integer(0, PARTITIONS_MAX)))
    .option(
      "--key-separator <text>",
      "a line is key, separator, record; the key chooses the partition and is not sent (\\t for a tab)",
    )
    .addOption(
      new Option("--ack <when>", "when a batch counts: on the disk, in the log, or never asked")
        .choices(Object.keys(ACKS))
        .default("forced"),
    )
    .addOption(
      new Option("--framing <how>", "how records stand in the input; length: int32 big-endian size and payload")
        .choices(FRAMINGS)
        .default("line"),
    )
    .addOption(option("--batch-bytes <size>", "close a batch at this size", size(1, 64 * MIB), BATCH_BYTES))
    .addOption(
      option("--linger-ms <ms>", "close a batch so long after its first record", duration(0, 3_600_000), LINGER_MS),
    )
    .addOption(
      option(
        "--retry-for <time>",
        "send a batch that was refused for now (LOG_FULL, OVERLOADED) again for so long",
        duration(0, 86_400_000),
        PRODUCE_RETRY_MS,
      ),
    )
    .option("--rate <n/s>", "send at most so many records a second", parseRate)
    .option("--skip-empty", "drop empty lines instead of refusing them")
    .option("--print-offsets", "print `partition offset` of each batch on stdout")
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((topic: string, options: ProduceVerbOptions) => {
      // What is wrong with the command line is said also where no broker is.
      checkTogether(options);
      return onBroker(options, io, (connection) => produce(connection, topic, options, io));
    });
}

/** Throws {@link Usage} for options that contradict each other. */
function checkTogether({ partition, keySeparator, ack, printOffsets }: ProduceVerbOptions): void {
  if (partition !== undefined && keySeparator !== undefined)
    throw new Usage("--partition and --key-separator exclude each other");
  if (ack === "none" && printOffsets)
    throw new Usage("--print-offsets needs an --ack: with none nobody learns offsets");
  if (keySeparator === "") throw new Usage("--key-separator is empty");
}

async function produce(connection: Connection, topic: string, options: ProduceVerbOptions, io: Io): Promise<void> {
  const { partition, framing } = options;
  const [metadata] = await connection.metadata([topic]);
  const partitions = metadata.partitions.length;
  if (partition !== undefined && partition >= partitions) {
    throw new Failed(`topic ${topic} has no partition ${partition}: it has ${partitions}, from 0 on`);
  }
  const run = new ProduceRun(connection, topic, partitions, options, io);
  const input = await io.stdin();
  try {
    await run.read(input);
  } catch (error) {
    throw interrupted(error, run.producer, topic, ACKS[options.ack], framing === "length" ? "record" : "line");
  }
}
