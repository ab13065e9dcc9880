// millrace's own client: a request is `Connection.produce` of a region that is made for it; reading is `Client.replay`, a batch for each
// answer.

import { Connection, connect, recordRegion } from "../../../src/client.js";
import { each, type NodeClient, type OpenOptions } from "./node-client.js";

export async function openMillrace({
  port,
  topic,
  connections,
  records,
  payload,
  ack,
}: OpenOptions): Promise<NodeClient> {
  const broker = `127.0.0.1:${port}`;
  const all = Array.from({ length: records }, () => payload);
  const links = await each(connections, async () => {
    const connection = await Connection.connect({ broker });
    return () => connection.produce(topic, 0, recordRegion(all), { ack });
  });
  const client = await connect({ broker });
  let seen = 0;
  const read: NodeClient["read"] = async (maxBytes, _range, got) => {
    let total = 0;
    for await (const batch of client.replay(topic, { maxBytes })) {
      let count = 0;
      for (const record of batch) {
        seen ^= record[0];
        count++;
      }
      total += count;
      if (!got(count)) break;
    }
    return seen < 0 ? 0 : total;
  };
  return { links, read };
}
