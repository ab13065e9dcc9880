// The same requests in the same random order to a broker and to logs in the process: each answer is the same, byte for byte.

import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { Connection } from "../../src/client/connection.js";
import type { Link } from "../../src/client/link.js";
import { recordRegion } from "../../src/client/record-region.js";
import { LogBackend } from "../../src/embedded/log-backend.js";
import { LogTopics } from "../../src/embedded/log-topics.js";
import { openLog } from "../../src/log/embedded.js";
import { MillraceError } from "../../src/model/errors.js";
import { startBroker } from "../../src/ops/start-broker.js";
import { printedSeed, randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";

const SEGMENT_BYTES = 16 * 1024;
const PARTITIONS = 3;
const STEPS = 1500;

async function toBroker(): Promise<Link> {
  const settings = { topics: `t:${PARTITIONS}`, "segment.bytes": SEGMENT_BYTES, "max.frame.bytes": SEGMENT_BYTES / 2 };
  const broker = await startBroker({ ephemeral: true, settings });
  onTestFinished(async () => void (await broker.stop()));
  return Connection.connect({ broker: broker.address });
}

async function toLogs(): Promise<Link> {
  const dir = tempDir("logs");
  const options = { segmentBytes: SEGMENT_BYTES, diskReserveBytes: 0 };
  const logs = await Promise.all([0, 1, 2].map((n) => openLog(join(dir, `t-${n}`), options)));
  onTestFinished(async () => void (await Promise.all(logs.map((log) => log.close()))));
  return new LogBackend("logs", new LogTopics(new Map([["t", logs]])), async () => undefined).connect();
}

/** What it resolves to, or the code that it rejects with. */
async function outcome(call: Promise<unknown>): Promise<unknown> {
  try {
    const answer = await call;
    // Bytes lie in one kind of array here and in another there.
    return JSON.parse(JSON.stringify(answer, (_, value: unknown) => (isBytes(value) ? shown(value) : value)));
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return `${error.name} ${error.code}`;
  }
}

interface JsonBuffer {
  readonly type: "Buffer";
  readonly data: readonly number[];
}
/** JSON.stringify has turned a Buffer into an object before it asks. */
const isBytes = (value: unknown): value is Uint8Array | JsonBuffer =>
  value instanceof Uint8Array || (value as JsonBuffer | null)?.type === "Buffer";
const shown = (bytes: Uint8Array | JsonBuffer): string =>
  Buffer.from(bytes instanceof Uint8Array ? bytes : bytes.data).toString("base64");

it("a broker and logs in the process answer the same requests the same way", async () => {
  const random = randomFrom(printedSeed("link conformance"));
  const below = (limit: number): number => Math.floor(random() * limit);
  const ends = new Array<number>(PARTITIONS + 1).fill(0);
  /** Mostly a sound partition and offset. */
  const place = (): { topic: string; partition: number; fetchOffset: number } => {
    const partition = below(50) === 0 ? PARTITIONS : below(PARTITIONS);
    const topic = below(60) === 0 ? "nowhere" : "t";
    const end = ends[partition] as number;
    return { topic, partition, fetchOffset: below(12) === 0 ? end + below(3) : below(end + 1) };
  };

  const step = (): ((link: Link) => Promise<unknown>) => {
    const { topic, partition, fetchOffset } = place();
    const kind = below(10);
    if (kind < 4) {
      const records = Array.from({ length: 1 + below(6) }, () =>
        new Uint8Array(1 + below(below(4) === 0 ? 1200 : 60)).fill(below(256)),
      );
      const expectedOffset = below(4) === 0 ? Math.max(0, (ends[partition] as number) - below(2)) : undefined;
      const region = recordRegion(records);
      const ack = below(3) === 0 ? "forced" : "written";
      return (link) => link.produce(topic, partition, region, { ack, expectedOffset });
    }
    const maxBytes = 1 + below(below(2) === 0 ? 200 : SEGMENT_BYTES * 2);
    if (kind < 6) return (link) => link.fetch(topic, partition, fetchOffset, maxBytes);
    if (kind < 9) {
      const positions = Array.from({ length: 1 + below(4) }, () => {
        return { ...place(), epoch: below(3) - 1, maxBytes: 1 + below(SEGMENT_BYTES) };
      });
      // Nothing to wait for where there is something; where there is nothing, the same nothing after a moment.
      const options = { maxWaitMs: below(8) === 0 ? 5 : 0, replicaId: below(3) - 1, minRecords: below(3) };
      return (link) => link.fetchMany(positions, maxBytes, options);
    }
    if (below(2) === 0) {
      const topics = below(2) === 0 ? [] : [topic];
      return (link) => link.metadata(topics);
    }
    const at = below(2) === 0 ? "earliest" : "latest";
    return (link) => link.listOffsets(topic, partition, at);
  };

  const [broker, logs] = [await toBroker(), await toLogs()];
  onTestFinished(() => {
    for (const link of [broker, logs]) link.destroy();
  });
  const kinds = new Map<string, number>();
  for (let n = 0; n < STEPS; n++) {
    const request = step();
    const [one, other] = [await outcome(request(broker)), await outcome(request(logs))];
    expect(withoutDurable(other), `step ${n}`).toEqual(withoutDurable(one));
    const what = typeof one === "string" ? one : Array.isArray(one) ? "list" : Object.keys(one as object).join();
    kinds.set(what, (kinds.get(what) ?? 0) + 1);
    const described = (await logs.metadata(["t"]))[0]?.partitions ?? [];
    for (const { partition, logEndOffset } of described) ends[partition] = logEndOffset;
  }
  // It has met what it should: what is written, what is read, and each refusal.
  for (const what of ["baseOffset,logEndOffset", "highWatermark,payload", "list", "offset,timestampMs"]) {
    expect(kinds.get(what) ?? 0, what).toBeGreaterThan(20);
  }
  for (const code of ["UNKNOWN_TOPIC_OR_PARTITION", "OFFSET_OUT_OF_RANGE", "OFFSET_MISMATCH", "CORRUPT_REQUEST"]) {
    expect(kinds.get(`BrokerError ${code}`) ?? 0, code).toBeGreaterThan(0);
  }
}, 60_000);

/** How far a log is durable depends on when its last barrier ran. */
const withoutDurable = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer, (key, value: unknown) => (key === "durableOffset" ? undefined : value)));
