// `millrace health`: does the broker answer? Over the protocol, with a deadline of its own: a hung broker's kernel still
// accepts connections.

import type { Command } from "commander";
import { duration } from "../ops/settings/kinds.js";
import { type BrokerOption, onBroker, withBroker } from "./connect.js";
import { helpText } from "./help.js";
import type { Io } from "./io.js";
import { value } from "./values.js";

interface HealthVerbOptions extends BrokerOption {
  readonly timeout: number;
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
    .option("--timeout <time>", "how long it may take, all in all", value(duration(1, 3_600_000)), TIMEOUT_MS)
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
      for (const { topic, partition } of partitions.filter(({ highWatermark }) => highWatermark < 0)) {
        io.stderr.write(
          `millrace: partition ${topic}-${partition} is not open: the broker refused it, its log says why\n`,
        );
      }
      const { brokerName = "broker", brokerVersion = "before HELLO" } = connection.hello ?? {};
      const took = (performance.now() - startedAt).toFixed(1);
      const counts = `topics=${topics.length} partitions=${partitions.length} ms=${took}`;
      const text = `ok ${connection.address} ${brokerName} ${brokerVersion} ${counts}\n`;
      await io.stdout.write(Buffer.from(text));
    },
    { connectTimeoutMs: options.timeout },
  );
}
