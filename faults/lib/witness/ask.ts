// What the rungs ask a broker, over a client that knows the protocol only as bytes.

import { crc32c } from "../../../src/protocol/crc32c.js";
import { Fields, fetch, metadata, readFetched, readStored, Wire } from "../../../test/support/wire.js";
import type { Ledger, Told } from "./ledger.js";

export { Wire };

const SHUTTING_DOWN = 9;
const FETCH_BYTES = 1 << 20;
/** The bytes are compared anyway; the sum of each tenth record, too: it takes as long again. */
const SUMMED = 10;

export const within = async <T>(ms: number, what: string, work: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`hangs: ${what} took more than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

/** Of all partitions, by `topic-partition`. Of none when the broker stops. */
export async function tellAll(wire: Wire): Promise<Map<string, Told>> {
  const { error, body } = await wire.ask(metadata([], 2));
  if (error === SHUTTING_DOWN) return new Map();
  if (error !== 0) throw new Error(`METADATA answered ${error}`);
  const fields = new Fields(body);
  const all = new Map<string, Told>();
  for (let topics = fields.int32(); topics > 0; topics--) {
    const topic = fields.string();
    fields.int8();
    for (let partitions = fields.int32(); partitions > 0; partitions--) {
      const name = `${topic}-${fields.int32()}`;
      const epoch = fields.int32();
      const [logStart, highWatermark] = [fields.int64(), fields.int64()];
      all.set(name, { epoch, logStart, highWatermark, durable: fields.int64(), logEnd: fields.int64() });
    }
  }
  return all;
}

export interface Reading {
  readonly next: number;
  readonly highWatermark: number;
  readonly wrong: readonly string[];
}

/** Compares what a FETCH brought from `from` on with what was sent. */
export function compare(ledger: Ledger, from: number, payload: Uint8Array): { next: number; wrong: string[] } {
  const plain = ledger.at.format === "plain";
  const headerBytes = plain ? 4 : 8;
  const { payloads } = readStored(payload, headerBytes);
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const wrong: string[] = [];
  let at = 0;
  for (const [index, bytes] of payloads.entries()) {
    const problem = ledger.differs(from + index, bytes);
    if (problem !== undefined) wrong.push(problem);
    if (
      !plain &&
      (from + index) % SUMMED === 0 &&
      crc32c(view, at + headerBytes, at + headerBytes + bytes.length) >>> 0 !== view.getUint32(at + 4)
    ) {
      wrong.push(`${ledger.name}: the sum of record ${from + index} is wrong`);
    }
    at += headerBytes + bytes.length;
  }
  return { next: from + payloads.length, wrong: wrong.slice(0, 3) };
}

/** Reads a partition from its start to its end. */
export async function readThrough(
  wire: Wire,
  ledger: Ledger,
  told: Told,
): Promise<{ records: number; wrong: string[] }> {
  const { topic, partition } = ledger.at;
  let at = told.logStart;
  while (at < told.highWatermark) {
    const answer = await wire.ask(fetch(at, { topic, partition, maxBytes: FETCH_BYTES }));
    // Retention has gone on meanwhile.
    if (answer.error === 2) {
      const now = (await tellAll(wire)).get(ledger.name);
      if (now !== undefined && now.logStart > at) {
        at = now.logStart;
        continue;
      }
    }
    if (answer.error !== 0)
      return {
        records: at - told.logStart,
        wrong: [`${ledger.name}: reading offset ${at} is answered ${answer.error}`],
      };
    const { next, wrong } = compare(ledger, at, readFetched(answer).payload);
    if (wrong.length > 0) return { records: at - told.logStart, wrong };
    if (next === at)
      return {
        records: at - told.logStart,
        wrong: [`${ledger.name}: no record at offset ${at} below ${told.highWatermark}`],
      };
    at = next;
  }
  return { records: at - told.logStart, wrong: [] };
}
