// `millrace offsets`: where the partitions of a topic start and end, and where reading begins for a time.

import { type Command, InvalidArgumentError } from "commander";
import type { Connection } from "../client/connection.js";
import { ApiKey } from "../protocol/api-keys.js";
import { type BrokerOption, onBroker, withBroker } from "./connect.js";
import { Failed } from "./failure.js";
import { helpText } from "./help.js";
import type { Io } from "./io.js";
import {
  columnsOf,
  dataDirFor,
  isOpen,
  type PartitionRow,
  ROW_HELP,
  type RowOptions,
  rowsOf,
  withRowOptions,
} from "./partition-rows.js";
import { type Column, jsonLines, tableText } from "./table.js";
import { ISO_RULE, isoTime, msTime } from "./times.js";
import { topicName } from "./values.js";

interface OffsetsVerbOptions extends BrokerOption, RowOptions {
  readonly at?: number;
  readonly json?: boolean;
}

/** Where reading from a time on begins. */
interface At {
  readonly offset: number;
  /** When the first record from there on was appended, about; −1: there is none that new. */
  readonly timestampMs: number;
}

interface Row extends PartitionRow {
  readonly at?: At;
}

const AT_COLUMNS: readonly Column<Row>[] = [
  { title: "FROM", value: ({ at }) => at?.offset ?? "refused" },
  { title: "TIME", value: ({ at }) => (at === undefined || at.timestampMs < 0 ? "-" : isoText(at.timestampMs)) },
];

const EXAMPLES = `
${ROW_HELP}

With --at, FROM is where to start for the records of that time on: never too late, and early by a few at most; TIME is when they were
appended, "-" when there is nothing that new.

Examples:
  $ millrace offsets orders
  $ millrace offsets orders --at 2026-11-30T14:00 --json | jq .at.offset
  $ millrace offsets orders --checkpoint orders.checkpoint
`;

export function offsetsCommand(program: Command, io: Io): void {
  const command = program
    .command("offsets")
    .summary("where partitions start and end")
    .description("List the offsets of a topic's partitions, and where reading begins for a time.")
    .argument("<topic>", "whose partitions", topicName);
  withRowOptions(withBroker(command))
    .option("--at <time>", "a day, a time, or milliseconds since 1970", parseAt)
    .option("--json", "print a JSON value a line instead of a table")
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((topic: string, options: OffsetsVerbOptions) =>
      onBroker(options, io, async (connection) => {
        const dataDir = await dataDirFor(options, io);
        const rows = await rowsOf(await connection.metadata([topic]), options, dataDir);
        const found = options.at === undefined ? rows : await withTimes(connection, rows, options.at);
        const columns: readonly Column<Row>[] = columnsOf(options, dataDir);
        const shown = options.at === undefined ? columns : [...columns, ...AT_COLUMNS];
        await io.stdout.write(Buffer.from(options.json ? jsonLines(found) : tableText(shown, found)));
      }),
    );
}

function parseAt(written: string): number {
  const ms = msTime(written.replace(/ms$/, "")) ?? isoTime(written);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError(`It takes ${ISO_RULE}, or milliseconds since 1970.`);
}

async function withTimes(connection: Connection, rows: readonly PartitionRow[], time: number): Promise<Row[]> {
  if (!connection.supports(ApiKey.LIST_OFFSETS, 1)) {
    throw new Failed(`the broker at ${connection.address} is too old to be asked for a time`);
  }
  return Promise.all(
    rows.map(async (row): Promise<Row> => {
      if (!isOpen(row)) return row;
      const { offset, timestampMs } = await connection.listOffsets(row.topic, row.partition, time);
      return { ...row, at: { offset, timestampMs } };
    }),
  );
}

const isoText = (ms: number): string => new Date(ms).toISOString();
