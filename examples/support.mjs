// @ts-check
// What the examples share: a broker to run on, and a directory to play in.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The broker at MILLRACE_BROKER, or one for this example alone. Ends the process when that one does not answer, or lacks the topics: a
 * broker makes no topic that is not in its settings.
 *
 * @param {string} topics as the setting `topics` takes them: `orders:1,clicks:3`
 * @returns {Promise<{ address: string, stop(): Promise<unknown> }>}
 */
export async function exampleBroker(topics) {
  const address = process.env.MILLRACE_BROKER;
  if (address !== undefined) {
    console.log(`using the broker at ${address}, which must have the topics ${topics}`);
    const trouble = await troubleWith(address, topics);
    if (trouble !== undefined) {
      console.error(trouble);
      process.exit(1);
    }
    return { address, stop: async () => undefined };
  }
  const { startBroker } = await import("millrace");
  const broker = await startBroker({ ephemeral: true, settings: { topics } });
  console.log(`started a broker for this example at ${broker.address}; it will leave nothing behind`);
  return broker;
}

/**
 * What keeps the example from running there, and what to do about it.
 *
 * @param {string} address
 * @param {string} topics
 */
async function troubleWith(address, topics) {
  const { connect, MillraceError } = await import("millrace/client");
  /** @type {import("millrace/client").Client | undefined} */
  let client;
  try {
    client = await connect({ broker: address });
    const found = new Map((await client.topics()).map(({ topic, partitions }) => [topic, partitions.length]));
    const lacking = topics.split(",").filter((each) => {
      const [topic = "", partitions] = each.split(":");
      return (found.get(topic) ?? 0) < Number(partitions);
    });
    if (lacking.length === 0) return undefined;
    return [
      `the broker at ${address} lacks ${lacking.join(",")} (topic:partitions).`,
      "Topics are a setting of the broker: stop it, add these to its `topics`, or to those that it is given with",
      `--topics or MILLRACE_TOPICS, as in \`npm start -- --topics ${topics}\`, and start it again.`,
      "Without MILLRACE_BROKER the example starts a broker of its own.",
    ].join("\n");
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return `${error.message}\nMILLRACE_BROKER says where a broker is; without it the example starts one of its own.`;
  } finally {
    await client?.close();
  }
}

/**
 * A directory that is gone afterwards.
 *
 * @template T
 * @param {(dir: string) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function inTemporaryDirectory(use) {
  const dir = await mkdtemp(join(tmpdir(), "millrace-example-"));
  try {
    return await use(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/**
 * What the example promises. Throws when it did not keep it, so that the process ends with 1.
 *
 * @param {boolean} holds
 * @param {string} what
 */
export function promise(holds, what) {
  if (!holds) throw new Error(`this should hold and does not: ${what}`);
  console.log(`ok: ${what}`);
}
