// Reads whole logs of a running broker for the judgement at the end: as a follower does, up to the log's end, each sum compared.

import { loadPackage } from "../product.js";
import type { FinalLog } from "./check.js";
import { walkStored } from "./stored.js";
import type { LoadTarget } from "./worker.js";

const FOLLOWER = 0;
const MAX_BYTES = 8 * 1024 * 1024;

/** Adds what cannot be read to the history's violations. */
export async function readLogs(target: LoadTarget, port: number): Promise<FinalLog[]> {
  const { Connection } = await loadPackage(target.product);
  const connection = await Connection.connect({ broker: `127.0.0.1:${port}` });
  try {
    const [{ partitions }] = await connection.metadata([target.topic]);
    const logs: FinalLog[] = [];
    for (const { partition, logStartOffset, logEndOffset } of partitions) {
      logs.push(await readLog(target, connection, partition, logStartOffset, logEndOffset));
    }
    return logs;
  } finally {
    connection.destroy();
  }
}

type Fetches = Pick<import("../../../src/client/connection.js").Connection, "fetchMany">;

async function readLog(
  { topic, recordFormat, history }: LoadTarget,
  connection: Fetches,
  partition: number,
  start: number,
  end: number,
): Promise<FinalLog> {
  const payloads: Uint8Array[] = [];
  if (start < 0) {
    history.violations.add("answer", `partition ${partition} refused to open`);
    return { partition, logStartOffset: 0, payloads };
  }
  while (start + payloads.length < end) {
    const fetchOffset = start + payloads.length;
    const at = { topic, partition, epoch: -1, fetchOffset, maxBytes: MAX_BYTES };
    const [answer] = await connection.fetchMany([at], MAX_BYTES, { replicaId: FOLLOWER });
    const { payloads: some, wrong } = walkStored(answer.payload, recordFormat);
    if (answer.error !== 0 || wrong !== undefined || some.length === 0) {
      const why = wrong ?? (answer.error === 0 ? "nothing came" : `error ${answer.error}`);
      history.violations.add("gap", `partition ${partition} offset ${fetchOffset} of ${end} cannot be read: ${why}`);
      break;
    }
    payloads.push(...some);
  }
  return { partition, logStartOffset: start, payloads };
}
