// Where the broker is, for every verb that talks to one.

import type { Command } from "commander";
import { DEFAULT_BROKER } from "../client/address.js";
import { Connection } from "../client/connection.js";
import type { ConnectionOptions } from "../client/connection-options.js";
import { MillraceError } from "../model/errors.js";
import { Usage } from "./failure.js";
import type { Io } from "./io.js";

export interface BrokerOption {
  readonly broker?: string;
}

/** Adds --broker. */
export function withBroker(command: Command): Command {
  return command.option(
    "--broker <address>",
    `host:port or the path of a Unix socket (default: $MILLRACE_BROKER or ${DEFAULT_BROKER})`,
  );
}

/** A new connection to the broker that was named. */
export async function connectTo(
  { broker }: BrokerOption,
  { env }: Pick<Io, "env">,
  options: ConnectionOptions = {},
): Promise<Connection> {
  try {
    return await Connection.connect({ ...options, broker: broker ?? (env.MILLRACE_BROKER || DEFAULT_BROKER) });
  } catch (error) {
    if (error instanceof MillraceError && error.code === "BAD_ARGUMENT") throw new Usage(error.message);
    throw error;
  }
}

/** Runs `work` on a connection, which is gone afterwards. */
export async function onBroker<T>(
  broker: BrokerOption,
  io: Io,
  work: (connection: Connection) => Promise<T>,
  options: ConnectionOptions = {},
): Promise<T> {
  const connection = await connectTo(broker, io, options);
  try {
    return await work(connection);
  } finally {
    // Whoever has open requests here has failed already and wants no answer any more.
    if (connection.openRequests === 0) await connection.close();
    else connection.destroy();
  }
}
