// `millrace topics`: what a broker has, and where each partition starts and ends.

import type { Command } from "commander";
import { type BrokerOption, onBroker, withBroker } from "./connect.js";
import { helpText } from "./help.js";
import type { Io } from "./io.js";
import {
  columnsOf,
  dataDirFor,
  type PartitionRow,
  ROW_HELP,
  type RowOptions,
  rowsOf,
  withRowOptions,
} from "./partition-rows.js";
import { type Column, jsonLines, tableText } from "./table.js";
import { topicName } from "./values.js";

interface TopicsVerbOptions extends BrokerOption, RowOptions {
  readonly json?: boolean;
}

const COLUMNS: readonly Column<PartitionRow>[] = [{ title: "TOPIC", value: (row) => row.topic }];
const FORMAT: Column<PartitionRow> = { title: "FORMAT", value: (row) => row.recordFormat };

const EXAMPLES = `
${ROW_HELP}

Examples:
  $ millrace topics
  $ millrace topics orders --json | jq .highWatermark
  $ millrace topics orders --data-dir ./millrace-data --checkpoint orders.checkpoint
`;

export function topicsCommand(program: Command, io: Io): void {
  const command = program
    .command("topics")
    .summary("list topics and offsets")
    .description("List topics and, for each partition, where it starts and ends.")
    .argument("[topic]", "only this one", topicName);
  withRowOptions(withBroker(command))
    .option("--json", "print a JSON value a line instead of a table")
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((topic: string | undefined, options: TopicsVerbOptions) =>
      onBroker(options, io, async (connection) => {
        const dataDir = await dataDirFor(options, io);
        const topics = await connection.metadata(topic === undefined ? [] : [topic]);
        const rows = await rowsOf(topics, options, dataDir);
        const [partition, ...others] = columnsOf(options, dataDir);
        const text = options.json ? jsonLines(rows) : tableText([...COLUMNS, partition, FORMAT, ...others], rows);
        await io.stdout.write(Buffer.from(text));
      }),
    );
}
