// @ts-check
// What the examples share: a broker to run on, and a directory to play in.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The broker at MILLRACE_BROKER, which must have the topics, or one for this example alone.
 *
 * @param {string} topics as the setting `topics` takes them: `orders:1,clicks:3`
 * @returns {Promise<{ address: string, stop(): Promise<unknown> }>}
 */
export async function exampleBroker(topics) {
  const address = process.env.MILLRACE_BROKER;
  if (address !== undefined) {
    console.log(`using the broker at ${address}, which must have the topics ${topics}`);
    return { address, stop: async () => undefined };
  }
  const { startBroker } = await import("millrace");
  const broker = await startBroker({ ephemeral: true, settings: { topics } });
  console.log(`started a broker for this example at ${broker.address}; it will leave nothing behind`);
  return broker;
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
