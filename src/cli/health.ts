// `millrace health`: does the broker answer? Over the protocol, with a deadline of its own: a hung broker's kernel still
// accepts connections.

import type { Command } from "commander";
import { duration } from "../ops/settings/kinds.js";
import { type BrokerOption, onBroker, withBroker } from "./connect.js";
import { helpText } from "./help.js";
import type { Io } from "./io.js";
import { option } from "./values.js";

interface HealthVerbOptions extends BrokerOption {
  readonly timeout: number;
  readonly json?: boolean;
}

const TIMEOUT_MS = 5_000;

const EXAMPLES = `
Exits 0 when the broker answers in time, else 1. A partition that the broker refused to open is named on stderr; the others serve.

Example:
  $ millrace health --broker 127.0.0.1:4710 --timeout 2s
`;

export function healthCommand(program: Command, io: Io): void {
  withBroker(
    program
      .command("health")
      .summary("ask whether a broker answers")
      .description("Ask a broker for its metadata, with a deadline."),
  )
    .addOption(option("--timeout <time>", "how long it may take, all in all", duration(1, 3_600_000), TIMEOUT_MS))
    .option("--json", "print JSON instead of a line")
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((options: HealthVerbOptions) => health(options, io));
}

async function health(options: HealthVerbOptions, io: Io): Promise<void> {
  const startedAt = performance.now();
  const left = () => Math.max(1, options.timeout - (performance.now() - startedAt));
  await onBroker(
    options,
    io,
    async (connection) => {
      const topics = await connection.metadata([], { timeoutMs: left() });
      const partitions = topics.flatMap(({ topic, partitions }) => partitions.map((each) => ({ topic, ...each })));
      const refused = partitions
        .filter(({ highWatermark }) => highWatermark < 0)
        .map(({ topic, partition }) => `${topic}-${partition}`);
      for (const name of refused) {
        io.stderr.write(`millrace: partition ${name} is not open: the broker refused it, its log says why\n`);
      }
      const { brokerName = "broker", brokerVersion = "before HELLO" } = connection.hello ?? {};
      const ms = Number((performance.now() - startedAt).toFixed(1));
      const told = { brokerName, brokerVersion, topics: topics.length, partitions: partitions.length, ms };
      const { address } = connection;
      const text = options.json
        ? `${JSON.stringify({ ok: true, address, ...told, refused })}\n`
        : `ok ${address} ${brokerName} ${brokerVersion} topics=${told.topics} partitions=${told.partitions} ms=${ms}\n`;
      await io.stdout.write(Buffer.from(text));
    },
    { connectTimeoutMs: options.timeout },
  );
}
