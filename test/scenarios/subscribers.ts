// Clients and connections of the scenarios with subscriptions; a test that ends closes them.

import { onTestFinished } from "vitest";
import type { Client } from "../../src/client/client.js";
import { type ConnectOptions, connect } from "../../src/client/connect.js";
import { Connection } from "../../src/client/connection.js";
import { type BrokerProcess, testSettings } from "../support/broker.js";

export const settings = (dir: string, topics: string) => ({ ...testSettings(dir), topics });
export const written = { ack: "written" } as const;

export async function clientAt(broker: string, options: ConnectOptions = {}): Promise<Client> {
  const client = await connect({ broker, connectTimeoutMs: 2000, requestTimeoutMs: 5000, ...options });
  onTestFinished(() => client.close());
  return client;
}

export async function direct({ port }: BrokerProcess): Promise<Connection> {
  const connection = await Connection.connect({ broker: `127.0.0.1:${port}` });
  onTestFinished(() => connection.destroy());
  return connection;
}

export const numbered = (name: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}:${from + i}`);
