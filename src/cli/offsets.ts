// `millrace offsets`: where the partitions of a topic start and end, and where reading begins for a time.

import { type Command, InvalidArgumentError } from "commander";
import type { Connection } from "../client/connection.js";
import { ApiKey } from "../protocol/api-keys.js";
import type { PartitionMetadata } from "../protocol/metadata.js";
import { type BrokerOption, onBroker, withBroker } from "./connect.js";
import { Failed } from "./failure.js";
import { helpText } from "./help.js";
import type { Io } from "./io.js";
import { type Column, tableText } from "./table.js";
import { ISO_RULE, isoTime, msTime } from "./times.js";
import { topicName } from "./values.js";

interface OffsetsVerbOptions extends BrokerOption {
  readonly at?: number;
  readonly json?: boolean;
}

/** Where reading from a time on begins. */
interface At {
  readonly offset: number;
  /** When the first record from there on was appended, about; −1: there is none that new. */
  readonly timestampMs: number;
}

interface Row extends PartitionMetadata {
  readonly at?: At;
}

const isOpen = (row: Row): boolean => row.highWatermark >= 0;
const offsetColumn = (title: string, of: (row: Row) => number): Column<Row> => ({
  title,
  value: (row) => (isOpen(row) ? of(row) : "refused"),
});

const COLUMNS: readonly Column<Row>[] = [
  { title: "PARTITION", value: (row) => row.partition },
  offsetColumn("START", (row) => row.logStartOffset),
  offsetColumn("HIGH WATERMARK", (row) => row.highWatermark),
  offsetColumn("DURABLE", (row) => row.durableOffset),
  offsetColumn("END", (row) => row.logEndOffset),
  offsetColumn("RECORDS", (row) => row.highWatermark - row.logStartOffset),
];

const AT_COLUMNS: readonly Column<Row>[] = [
  { title: "FROM", value: ({ at }) => at?.offset ?? "refused" },
  { title: "TIME", value: ({ at }) => (at === undefined || at.timestampMs < 0 ? "-" : isoText(at.timestampMs)) },
];

const EXAMPLES = `
START is the first offset there is, HIGH WATERMARK what readers may read up to, DURABLE what is forced to the disk, END what is
written. With --at, FROM is where to start for the records of that time on: never too late, and early by a few at most; TIME is when
they were appended, "-" when there is nothing that new.

Examples:
  $ millrace offsets orders
  $ millrace offsets orders --at 2026-11-30T14:00 --json | jq '.[].at.offset'
`;

export function offsetsCommand(program: Command, io: Io): void {
  withBroker(
    program
      .command("offsets")
      .summary("where partitions start and end")
      .description("List the offsets of a topic's partitions, and where reading begins for a time.")
      .argument("<topic>", "whose partitions", topicName),
  )
    .option("--at <time>", "a day, a time, or milliseconds since 1970", parseAt)
    .option("--json", "print JSON instead of a table")
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((topic: string, options: OffsetsVerbOptions) =>
      onBroker(options, io, async (connection) => {
        const rows = await rowsOf(connection, topic, options.at);
        const columns = options.at === undefined ? COLUMNS : [...COLUMNS, ...AT_COLUMNS];
        const text = options.json ? `${JSON.stringify(rows, undefined, 2)}\n` : tableText(columns, rows);
        await io.stdout.write(Buffer.from(text));
      }),
    );
}

function parseAt(written: string): number {
  const ms = msTime(written.replace(/ms$/, "")) ?? isoTime(written);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError(`It takes ${ISO_RULE}, or milliseconds since 1970.`);
}

async function rowsOf(connection: Connection, topic: string, time: number | undefined): Promise<Row[]> {
  const [{ partitions }] = await connection.metadata([topic]);
  if (time === undefined) return [...partitions];
  if (!connection.supports(ApiKey.LIST_OFFSETS, 1)) {
    throw new Failed(`the broker at ${connection.address} is too old to be asked for a time`);
  }
  return Promise.all(
    partitions.map(async (metadata): Promise<Row> => {
      if (!isOpen(metadata)) return metadata;
      const { offset, timestampMs } = await connection.listOffsets(topic, metadata.partition, time);
      return { ...metadata, at: { offset, timestampMs } };
    }),
  );
}

const isoText = (ms: number): string => new Date(ms).toISOString();
