// `millrace produce`: stdin to batches. Reads no faster than the broker takes, and says exactly what arrived when it stops early.

import { type Command, Option } from "commander";
import type { Connection } from "../../client/connection.js";
import { RegionBuilder } from "../../client/record-region.js";
import { AckPolicy } from "../../model/ack-policy.js";
import { systemTimers } from "../../model/clock.js";
import { PARTITIONS_MAX } from "../../model/limits.js";
import { duration, integer, size } from "../../ops/settings/kinds.js";
import { LENGTH_BYTES } from "../../protocol/frame.js";
import { produceRequestBytes } from "../../protocol/produce.js";
import { type BrokerOption, onBroker, withBroker } from "../connect.js";
import { Failed, Usage } from "../failure.js";
import { FRAMINGS, type Framing, type RecordSource, recordsOf } from "../framing.js";
import type { Input, Io } from "../io.js";
import { Output } from "../output.js";
import { Progress } from "../progress.js";
import { unescaped, value } from "../values.js";
import { LineProducer } from "./line-producer.js";
import { OffsetPrinter } from "./offset-printer.js";
import { Pace, parseRate } from "./pace.js";
import { interrupted } from "./report.js";

export interface ProduceVerbOptions extends BrokerOption {
  readonly partition?: number;
  readonly keySeparator?: string;
  readonly ack: keyof typeof ACKS;
  readonly framing: Framing;
  readonly batchBytes: number;
  readonly lingerMs: number;
  readonly rate?: number;
  readonly skipEmpty?: boolean;
  readonly printOffsets?: boolean;
}

const ACKS = { forced: AckPolicy.FORCED, written: AckPolicy.WRITTEN, none: AckPolicy.NONE } as const;
const KIB = 1024;
const MIB = 1024 * KIB;
const BATCH_BYTES = 256 * KIB;
const LINGER_MS = 5;

const EXAMPLES = `
Each line of stdin is a record. Without --partition and --key-separator batches go round robin.
When it stops early it says how many lines were acknowledged, and up to which input line for each partition.

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
      .description(
        "Append records from stdin to a topic, many batches in flight, and wait until they are on the broker's disk.",
      )
      .argument("<topic>"),
  )
    .option("--partition <n>", "send everything to this partition", value(integer(0, PARTITIONS_MAX)))
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
    .option("--batch-bytes <size>", "close a batch at this size", value(size(1, 64 * MIB)), BATCH_BYTES)
    .option(
      "--linger-ms <ms>",
      "close a batch so long after its first record",
      value(duration(0, 3_600_000)),
      LINGER_MS,
    )
    .option("--rate <n/s>", "send at most so many records a second", parseRate)
    .option("--skip-empty", "drop empty lines instead of refusing them")
    .option("--print-offsets", "print `partition offset` of each batch on stdout")
    .addHelpText("after", EXAMPLES)
    .action((topic: string, options: ProduceVerbOptions) =>
      onBroker(options, io, (connection) => produce(connection, topic, options, io)),
    );
}

async function produce(connection: Connection, topic: string, options: ProduceVerbOptions, io: Io): Promise<void> {
  const { partition, keySeparator, framing } = options;
  if (partition !== undefined && keySeparator !== undefined)
    throw new Usage("--partition and --key-separator exclude each other");
  if (keySeparator === "") throw new Usage("--key-separator is empty");
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

class ProduceRun {
  readonly producer: LineProducer;
  private readonly offsets: OffsetPrinter | undefined;
  private readonly progress: Progress;
  private readonly source: RecordSource;
  private readonly pace: Pace | undefined;
  private inputBytes = 0;
  private wake: (() => void) | undefined;

  constructor(
    connection: Connection,
    topic: string,
    partitions: number,
    private readonly options: ProduceVerbOptions,
    io: Io,
  ) {
    const recordBytesMax = connection.maxFrameBytes + LENGTH_BYTES - produceRequestBytes(topic, RegionBuilder.cost(0));
    this.offsets = options.printOffsets ? new OffsetPrinter(new Output(io.stdout)) : undefined;
    this.progress = new Progress(io, () => performance.now(), "records");
    this.producer = new LineProducer(connection, {
      topic,
      partitions,
      partition: options.partition,
      keySeparator: options.keySeparator === undefined ? undefined : Buffer.from(unescaped(options.keySeparator)),
      ack: ACKS[options.ack],
      batchBytes: Math.min(options.batchBytes, RegionBuilder.cost(recordBytesMax)),
      lingerMs: options.lingerMs,
      timers: systemTimers,
      onAcknowledged: (at, { baseOffset }) => this.offsets?.print(at, baseOffset),
      onFailure: () => this.wake?.(),
    });
    const framing = { recordBytesMax, skipEmpty: options.skipEmpty === true };
    this.source = recordsOf(options.framing, framing, this.producer);
    this.pace = options.rate === undefined ? undefined : new Pace(options.rate, () => performance.now());
  }

  async read(input: Input): Promise<void> {
    const { producer } = this;
    try {
      await this.readAll(input);
    } catch (error) {
      // What came before the line that is wrong is sent, and its answers are waited for.
      await (producer.failure === undefined ? producer.finish() : producer.settled());
      await this.offsets?.flush();
      this.progress.clear();
      throw error;
    }
    await this.offsets?.flush();
    const done = this.options.ack === "none" ? "sent without acknowledgement:" : `acknowledged (${this.options.ack}):`;
    this.progress.done(producer.sent, this.inputBytes, done);
  }

  private async readAll(input: Input): Promise<void> {
    const chunks = input.chunks[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.nextOrFailure(chunks);
      this.stopOnFailure();
      if (next === undefined || next.done === true) break;
      await this.take(next.value, input.bytes);
    }
    this.source.end();
    await this.producer.finish();
    this.stopOnFailure();
  }

  private async take(chunk: Uint8Array, inputBytes: number | undefined): Promise<void> {
    for (const piece of this.pace?.pieces(chunk) ?? [chunk]) {
      this.source.push(piece);
      this.inputBytes += piece.length;
      await this.pace?.wait(this.producer.lastLine);
      await this.producer.room();
      this.stopOnFailure();
    }
    const { producer, progress, inputBytes: read } = this;
    progress.show(producer.lastLine, read, inputBytes === undefined ? undefined : read / Math.max(inputBytes, 1));
  }

  /** The next chunk, or nothing as soon as a batch failed: an input that never ends must not keep that from being said. */
  private nextOrFailure(chunks: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array> | undefined> {
    return new Promise((resolve, reject) => {
      this.wake = () => resolve(undefined);
      chunks.next().then(resolve, reject);
    });
  }

  private stopOnFailure(): void {
    if (this.producer.failure !== undefined) throw this.producer.failure;
  }
}
