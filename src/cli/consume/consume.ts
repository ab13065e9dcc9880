// `millrace consume`: partitions to stdout. Reads no faster than stdout takes.

import { setTimeout as sleep } from "node:timers/promises";
import { type Command, InvalidArgumentError } from "commander";
import type { Connection } from "../../client/connection.js";
import { Consumer, type StartPosition } from "../../client/consumer.js";
import type { RecordBatch } from "../../client/record-batch.js";
import { OFFSET_MAX, PARTITIONS_MAX } from "../../model/limits.js";
import { integer, size } from "../../ops/settings/kinds.js";
import { type BrokerOption, onBroker, withBroker } from "../connect.js";
import { Failed, Usage } from "../failure.js";
import type { Io } from "../io.js";
import { Output } from "../output.js";
import { Progress } from "../progress.js";
import { value } from "../values.js";
import { Format } from "./format.js";

export interface ConsumeVerbOptions extends BrokerOption {
  readonly partition?: number;
  readonly from: StartPosition;
  readonly maxRecords?: number;
  readonly untilEnd?: boolean;
  readonly format: string;
  readonly maxBytes: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const MAX_BYTES = MIB;
/** Records up to so many bytes are read without being asked for: the broker's own bound for one answer. */
const MAX_BYTES_LIMIT = 64 * MIB;
/** How long a reader that has caught up waits before it asks again: not seen by a person, ten requests a second. */
const IDLE_MS = 100;

const EXAMPLES = `
Without --until-end it goes on with what comes, until it is stopped or nobody reads its output.
--until-end stops where each partition ended when it started.

Format: %t topic, %p partition, %o offset, %s payload, %% a percent sign; \\n \\t \\0 and so on.

Examples:
  $ millrace consume orders --until-end > orders.log
  $ millrace consume orders --partition 2 --from 1000 --max-records 10 --format '%p %o %s\\n'
  $ millrace consume orders --from latest | grep --line-buffered refund
`;

export function consumeCommand(program: Command, io: Io): void {
  withBroker(
    program
      .command("consume")
      .summary("print records")
      .description("Print the records of a topic on stdout, verified, in order inside each partition.")
      .argument("<topic>"),
  )
    .option("--partition <n>", "read only this partition", value(integer(0, PARTITIONS_MAX)))
    .option("--from <where>", "earliest, latest, or an offset", parseFrom, "earliest")
    .option("--until-end", "stop at the end instead of waiting for more")
    .option("--max-records <n>", "stop after so many records", value(integer(1, OFFSET_MAX)))
    .option("--format <text>", "how each record is printed", "%s\\n")
    .option("--max-bytes <size>", "ask for so many bytes at once", value(size(KIB, 1024 * MIB)), MAX_BYTES)
    .addHelpText("after", EXAMPLES)
    .action((topic: string, options: ConsumeVerbOptions) =>
      onBroker(options, io, (connection) => consume(connection, topic, options, io)),
    );
}

function parseFrom(written: string): StartPosition {
  if (written === "earliest" || written === "latest") return written;
  if (/^\d{1,16}$/.test(written) && Number(written) <= OFFSET_MAX) return Number(written);
  throw new InvalidArgumentError("It takes earliest, latest or an offset.");
}

async function consume(connection: Connection, topic: string, options: ConsumeVerbOptions, io: Io): Promise<void> {
  const format = new Format(options.format);
  const consumers = await openConsumers(connection, topic, options);
  const output = new Output(io.stdout);
  const progress = new Progress(io, () => performance.now(), "records");
  const reading = new Reading(consumers, options, format, output, progress);
  try {
    await (options.untilEnd ? reading.untilEnd() : reading.follow());
  } finally {
    // What was read before a failure is good and is printed.
    await output.flush();
    progress.clear();
  }
  if (options.untilEnd) progress.done(reading.records, reading.bytes, "read");
}

async function openConsumers(connection: Connection, topic: string, options: ConsumeVerbOptions): Promise<Consumer[]> {
  const [metadata] = await connection.metadata([topic]);
  const { partitions, recordFormat } = metadata;
  const chosen = partitions.filter(
    ({ partition }) => options.partition === undefined || partition === options.partition,
  );
  if (chosen.length === 0) {
    throw new Failed(`topic ${topic} has no partition ${options.partition}: it has ${partitions.length}, from 0 on`);
  }
  if (typeof options.from === "number" && chosen.length > 1) {
    throw new Usage(`--from with an offset needs --partition: topic ${topic} has ${chosen.length} partitions`);
  }
  const maxBytesLimit = Math.max(options.maxBytes, MAX_BYTES_LIMIT);
  return chosen.map((metadata) => {
    const { from, maxBytes } = options;
    const consumer = { topic, partition: metadata.partition, from, maxBytes, maxBytesLimit };
    return new Consumer(connection, consumer, recordFormat, metadata);
  });
}

class Reading {
  records = 0;
  bytes = 0;
  private readonly expected: number;
  private readonly maxRecords: number;

  constructor(
    private readonly consumers: readonly Consumer[],
    options: ConsumeVerbOptions,
    private readonly format: Format,
    private readonly output: Output,
    private readonly progress: Progress,
  ) {
    this.maxRecords = options.maxRecords ?? Number.POSITIVE_INFINITY;
    this.expected = Math.min(
      this.maxRecords,
      consumers.reduce((sum, consumer) => sum + consumer.lag, 0),
    );
  }

  /** One partition after the other, each to where it ended at the start. */
  async untilEnd(): Promise<void> {
    for (const consumer of this.consumers) {
      const end = consumer.highWatermark;
      if (consumer.position >= end) continue;
      let next = pollAhead(consumer);
      while (!this.isDone) {
        const batch = await next;
        const more = consumer.position < end;
        // The next answer is on its way while this one is printed.
        if (more) next = pollAhead(consumer);
        await this.print(batch, end);
        if (!more) break;
      }
    }
  }

  /** All partitions beside each other, without an end. */
  async follow(): Promise<void> {
    await Promise.all(this.consumers.map((consumer) => this.followOne(consumer)));
  }

  private async followOne(consumer: Consumer): Promise<void> {
    while (!this.isDone) {
      const batch = await consumer.poll();
      await this.print(batch, Number.POSITIVE_INFINITY);
      if (batch.length > 0) continue;
      // What is there is seen now, not when a piece is full.
      await this.output.flush();
      await sleep(IDLE_MS);
    }
  }

  private get isDone(): boolean {
    return this.records >= this.maxRecords;
  }

  private async print(batch: RecordBatch, end: number): Promise<void> {
    const { output, format, progress } = this;
    const count = Math.min(batch.length, end - batch.baseOffset, this.maxRecords - this.records);
    this.records += count;
    for (let i = 0; i < count; i++) {
      format.print(output, batch, i);
      if (output.isFull) await output.handOver();
    }
    if (count > 0) this.bytes += batch.ranges[2 * count - 1];
    progress.show(this.records, this.bytes, this.expected > 0 ? this.records / this.expected : undefined);
  }
}

/** A poll that may be left behind: when printing fails, nobody waits for it any more. */
function pollAhead(consumer: Consumer): Promise<RecordBatch> {
  const batch = consumer.poll();
  batch.catch(() => undefined);
  return batch;
}
