// nats.js: a request is a `publish` of JetStream for each record, sent together, each with its acknowledgement.

import { each, importFrom, type NodeClient, type OpenOptions } from "./node-client.js";

interface NatsConnection {
  close(): Promise<void>;
}

interface Transport {
  connect(options: { readonly servers: string }): Promise<NatsConnection>;
}

interface JetStream {
  jetstream(connection: NatsConnection): {
    publish(subject: string, payload: Uint8Array, options: { readonly timeout: number }): Promise<unknown>;
  };
  jetstreamManager(connection: NatsConnection): Promise<{
    readonly streams: {
      add(config: {
        readonly name: string;
        readonly subjects: readonly string[];
        readonly storage: "file";
      }): Promise<unknown>;
    };
  }>;
}

/** Records that are forced one by one wait for all before them. */
const TIMEOUT_MS = 60_000;

export async function openNats({
  modules,
  port,
  topic,
  connections,
  records,
  payload,
}: OpenOptions): Promise<NodeClient> {
  const { connect } = await importFrom<Transport>(modules, "@nats-io/transport-node");
  const { jetstream, jetstreamManager } = await importFrom<JetStream>(modules, "@nats-io/jetstream");
  const all = await each(connections, () => connect({ servers: `127.0.0.1:${port}` }));
  const manager = await jetstreamManager(all[0]);
  await manager.streams.add({ name: topic, subjects: [topic], storage: "file" });
  const links = all.map((connection) => {
    const stream = jetstream(connection);
    const publish = (): Promise<unknown> => stream.publish(topic, payload, { timeout: TIMEOUT_MS });
    return records === 1 ? publish : () => each(records, publish);
  });
  return { links };
}
