// A client of a broker: where one begins.

import { badArgument } from "../model/arguments.js";
import { addressText, DEFAULT_BROKER, parseBrokerAddress } from "./address.js";
import { badConnection } from "./checks.js";
import { Client, type ClientOptions } from "./client.js";
import { Connection } from "./connection.js";
import type { ConnectionOptions } from "./connection-options.js";
import type { Backend } from "./link.js";

/** What {@link connect} may be told. */
export interface ConnectOptions extends ConnectionOptions, ClientOptions {}

/**
 * A client of the broker at `options.broker`, or at an address alone. Rejects with CONNECTION_FAILED when nobody answers there, and as
 * {@link Connection.connect}.
 *
 * ```ts
 * import { connect } from "millrace/client";
 *
 * const client = await connect({ broker: "127.0.0.1:4710" });
 * for (const { topic, partitions } of await client.topics()) console.log(topic, partitions.length);
 * await client.close();
 * ```
 */
export async function connect(options: ConnectOptions | string = {}): Promise<Client> {
  if (typeof options !== "string" && (typeof options !== "object" || options === null)) {
    throw badArgument("options", options, "an object, or the broker's address");
  }
  const { retryMs, ...connection }: ConnectOptions = typeof options === "string" ? { broker: options } : options;
  const bad = badConnection(connection);
  if (bad !== undefined) throw bad;
  return Client.open(brokerBackend(connection), { retryMs });
}

/** Connections to a broker, for a {@link Client}. */
export function brokerBackend(options: ConnectionOptions = {}): Backend {
  const address = addressText(parseBrokerAddress(options.broker ?? DEFAULT_BROKER));
  return { address, connect: () => Connection.connect(options) };
}
