// @platformatic/kafka: a request is a `send` of its records to one partition, acks=all, a producer (and so a connection) each.

import { each, importFrom, type NodeClient, type OpenOptions } from "./node-client.js";

interface Message {
  readonly topic: string;
  readonly partition: number;
  readonly value: Buffer;
}

interface Producer {
  send(options: { readonly messages: readonly Message[]; readonly acks: number }): Promise<unknown>;
}

interface Kafka {
  readonly Producer: new (options: {
    readonly clientId: string;
    readonly bootstrapBrokers: readonly string[];
    readonly autocreateTopics: boolean;
  }) => Producer;
}

const ALL_REPLICAS = -1;

export async function openKafka({
  modules,
  port,
  topic,
  connections,
  records,
  payload,
}: OpenOptions): Promise<NodeClient> {
  const { Producer } = await importFrom<Kafka>(modules, "@platformatic/kafka");
  const value = Buffer.from(payload);
  const messages = Array.from({ length: records }, () => ({ topic, partition: 0, value }));
  const producers = Array.from(
    { length: connections },
    (_, index) =>
      new Producer({ clientId: `bench-${index}`, bootstrapBrokers: [`127.0.0.1:${port}`], autocreateTopics: true }),
  );
  // The first creates the topic; the others find it, and have their connections then.
  await producers[0].send({ messages, acks: ALL_REPLICAS });
  await each(connections, (index) => producers[index].send({ messages, acks: ALL_REPLICAS }));
  return { links: producers.map((producer) => () => producer.send({ messages, acks: ALL_REPLICAS })) };
}
