// node-redis: a request is an `xAdd` for each record, sent together; reading is `xRead` from the last id on.

import { each, importFrom, type NodeClient, type OpenOptions } from "./node-client.js";

interface Entry {
  readonly id: string;
  readonly message: Readonly<Record<string, string>>;
}

interface RedisClient {
  connect(): Promise<unknown>;
  xAdd(key: string, id: "*", message: Readonly<Record<string, Buffer>>): Promise<string>;
  xRead(
    from: { readonly key: string; readonly id: string },
    options: { readonly COUNT: number },
  ): Promise<readonly { readonly messages: readonly Entry[] }[] | null>;
}

interface Redis {
  createClient(options: { readonly url: string }): RedisClient;
}

export async function openRedis({
  modules,
  port,
  topic,
  connections,
  records,
  payload,
}: OpenOptions): Promise<NodeClient> {
  const { createClient } = await importFrom<Redis>(modules, "redis");
  const client = async (): Promise<RedisClient> => {
    const one = createClient({ url: `redis://127.0.0.1:${port}` });
    await one.connect();
    return one;
  };
  const message = { d: Buffer.from(payload) };
  const links = await each(connections, async () => {
    const one = await client();
    const add = (): Promise<string> => one.xAdd(topic, "*", message);
    return records === 1 ? add : () => each(records, add);
  });
  const reader = await client();
  const read: NodeClient["read"] = async (maxBytes, range, got) => {
    let id = "0";
    let total = 0;
    let seen = 0;
    while (total < range) {
      const answer = await reader.xRead({ key: topic, id }, { COUNT: Math.round(maxBytes / payload.length) });
      const messages = answer?.[0]?.messages ?? [];
      for (const entry of messages) seen += entry.message.d.length;
      total += messages.length;
      id = messages.at(-1)?.id ?? id;
      if (messages.length === 0 || seen === 0 || !got(messages.length)) break;
    }
    return total;
  };
  return { links, read };
}
