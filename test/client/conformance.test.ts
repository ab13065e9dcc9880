// The conformance tests, on a broker and on logs in this process.

import { join } from "node:path";
import { onTestFinished } from "vitest";
import { Connection } from "../../src/client/connection.js";
import type { Backend } from "../../src/client/link.js";
import { LogBackend } from "../../src/embedded/log-backend.js";
import { LogTopics } from "../../src/embedded/log-topics.js";
import { type Log, openLog } from "../../src/log/embedded.js";
import { runBroker } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";
import { clientConformance } from "./client-conformance.js";
import { type GroundOptions, linkConformance } from "./conformance.js";
import { typedConformance } from "./typed-conformance.js";

const TOPICS = { orders: 3, clicks: 1 };
const SEGMENT_BYTES = 1024 * 1024;

async function onBroker(options: GroundOptions = {}): Promise<Backend> {
  const { topics = TOPICS, dir, segmentBytes = SEGMENT_BYTES, retentionBytes } = options;
  const broker = await runBroker({
    ...(dir === undefined ? {} : { "data.dir": dir }),
    topics: Object.entries(topics)
      .map(([topic, partitions]) => `${topic}:${partitions}`)
      .join(","),
    "segment.bytes": segmentBytes,
    "max.frame.bytes": segmentBytes / 2,
    ...(retentionBytes === undefined ? {} : { "retention.bytes": retentionBytes, "retention.check.ms": 20 }),
  });
  return { address: broker.address, connect: () => Connection.connect({ broker: broker.address }) };
}

async function onLogs(options: GroundOptions = {}): Promise<Backend> {
  const { topics = TOPICS, dir = tempDir("logs"), segmentBytes = SEGMENT_BYTES, retentionBytes } = options;
  const opened = new Map<string, Log[]>();
  for (const [topic, partitions] of Object.entries(topics)) {
    const logs: Log[] = [];
    for (let i = 0; i < partitions; i++) {
      const log = await openLog(join(dir, `${topic}-${i}`), { segmentBytes, diskReserveBytes: 0, retentionBytes });
      onTestFinished(() => log.close());
      logs.push(log);
    }
    opened.set(topic, logs);
  }
  const backend = new LogBackend("logs of this process", new LogTopics(opened), async () => undefined);
  onTestFinished(() => backend.close());
  return backend;
}

linkConformance("a broker", onBroker);
linkConformance("logs in the process", onLogs);
clientConformance("a broker", onBroker);
clientConformance("logs in the process", onLogs);
typedConformance("a broker", onBroker);
typedConformance("logs in the process", onLogs);
