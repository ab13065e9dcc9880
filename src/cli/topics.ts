// `millrace topics`: what a broker has, and where each partition starts and ends.

import type { Command } from "commander";
import type { PartitionMetadata, TopicMetadata } from "../protocol/metadata.js";
import { type BrokerOption, onBroker, withBroker } from "./connect.js";
import { helpText } from "./help.js";
import type { Io } from "./io.js";
import { type Column, tableText } from "./table.js";
import { topicName } from "./values.js";

interface TopicsVerbOptions extends BrokerOption {
  readonly json?: boolean;
}

interface Row extends PartitionMetadata {
  readonly topic: string;
  readonly recordFormat: string;
}

/** A partition that the broker refused to open has no offsets. */
const isOpen = (row: Row): boolean => row.highWatermark >= 0;
const offsetColumn = (title: string, of: (row: Row) => number): Column<Row> => ({
  title,
  value: (row) => (isOpen(row) ? of(row) : "refused"),
});

const COLUMNS: readonly Column<Row>[] = [
  { title: "TOPIC", value: (row) => row.topic },
  { title: "PARTITION", value: (row) => row.partition },
  { title: "FORMAT", value: (row) => row.recordFormat },
  offsetColumn("START", (row) => row.logStartOffset),
  offsetColumn("HIGH WATERMARK", (row) => row.highWatermark),
  offsetColumn("DURABLE", (row) => row.durableOffset),
  offsetColumn("END", (row) => row.logEndOffset),
  offsetColumn("RECORDS", (row) => row.highWatermark - row.logStartOffset),
];

const EXAMPLES = `
START is the first offset there is, HIGH WATERMARK what readers may read up to, DURABLE what is forced to the disk, END what is
written. A partition that the broker refused to open says so; its log says why.

Examples:
  $ millrace topics
  $ millrace topics orders --json | jq '.[0].partitions[].highWatermark'
`;

export function topicsCommand(program: Command, io: Io): void {
  withBroker(
    program
      .command("topics")
      .summary("list topics and offsets")
      .description("List topics and, for each partition, where it starts and ends.")
      .argument("[topic]", "only this one", topicName),
  )
    .option("--json", "print JSON instead of a table")
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((topic: string | undefined, options: TopicsVerbOptions) =>
      onBroker(options, io, async (connection) => {
        const topics = await connection.metadata(topic === undefined ? [] : [topic]);
        const text = options.json
          ? `${JSON.stringify(topics, undefined, 2)}\n`
          : tableText(COLUMNS, topics.flatMap(rowsOf));
        await io.stdout.write(Buffer.from(text));
      }),
    );
}

function rowsOf({ topic, recordFormat, partitions }: TopicMetadata): Row[] {
  return partitions.map((partition) => ({ topic, recordFormat, ...partition }));
}
