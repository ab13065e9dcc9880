// One of the two threads of job.mjs: a log of its own, written and read.

import { parentPort, workerData } from "node:worker_threads";
import { openLog } from "millrace";

const log = await openLog(workerData);
await log.appendBatch(Array.from({ length: 100 }, (_, at) => new Uint8Array(at + 1)));
let records = 0;
for await (const { payload } of log.replay(0)) {
  records++;
  if (payload.length !== records) throw new Error(`record ${records} has ${payload.length} bytes`);
}
await log.close();
parentPort.postMessage(records);
