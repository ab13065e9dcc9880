// What the scripts ask for when somebody wants a topic's name: quickly, and without a word when there is no answer.

import type { Command } from "commander";
import { isTopicName } from "../../model/topic-name.js";
import { type BrokerOption, connectTo, withBroker } from "../connect.js";
import type { Io } from "../io.js";

/** A verb that --help does not show. */
export const ASK_TOPICS = "completion-topics";

/** Somebody has pressed a key and waits. */
const TIMEOUT_MS = 500;

export function askTopicsCommand(program: Command, io: Io): void {
  withBroker(
    program.command(ASK_TOPICS, { hidden: true }).description("Print the names of topics, or nothing."),
  ).action(async (options: BrokerOption) => {
    const names = await topicNames(options, io).catch(() => []);
    await io.stdout.write(Buffer.from(names.map((name) => `${name}\n`).join("")));
  });
}

async function topicNames(options: BrokerOption, io: Io): Promise<string[]> {
  const connection = await connectTo(options, io, { connectTimeoutMs: TIMEOUT_MS });
  try {
    const topics = await connection.metadata([], { timeoutMs: TIMEOUT_MS });
    // A shell expands what it is given.
    return topics.map(({ topic }) => topic).filter(isTopicName);
  } finally {
    connection.destroy();
  }
}
