// What the damaged requests left in the log: whole records whose sums match, without a gap.

import { crc32c } from "../../../src/protocol/crc32c.js";
import { fetch, readFetched, readStored, Wire } from "../../../test/support/wire.js";
import { tellAll, within } from "../../lib/witness/ask.js";

const READ_MS = 60_000;
const HEADER_BYTES = 8;

export interface Sound {
  readonly records: number;
  readonly wrong: readonly string[];
}

export async function partitionsSound(port: number, topics: Readonly<Record<string, number>>): Promise<Sound> {
  const wire = await Wire.connect(port);
  const wrong: string[] = [];
  let records = 0;
  try {
    const told = await tellAll(wire);
    for (const [topic, partitions] of Object.entries(topics)) {
      for (let partition = 0; partition < partitions; partition++) {
        const { logStart = 0, highWatermark = 0 } = told.get(`${topic}-${partition}`) ?? {};
        const work = readAll(wire, topic, partition, logStart, highWatermark);
        const read = await within(READ_MS, `reading ${topic}-${partition}`, work);
        records += read.records;
        wrong.push(...read.wrong);
      }
    }
  } catch (error) {
    wrong.push(String(error));
  }
  wire.destroy();
  return { records, wrong };
}

async function readAll(wire: Wire, topic: string, partition: number, from: number, end: number): Promise<Sound> {
  const wrong: string[] = [];
  let at = from;
  while (at < end && wrong.length === 0) {
    const answer = await wire.ask(fetch(at, { topic, partition }));
    if (answer.error !== 0)
      return { records: at - from, wrong: [`${topic}-${partition} at ${at}: error ${answer.error}`] };
    const { payload } = readFetched(answer);
    const { payloads } = readStored(payload);
    if (payloads.length === 0) wrong.push(`${topic}-${partition}: no whole record at ${at} below ${end}`);
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
    let position = 0;
    for (const { length } of payloads) {
      const body = position + HEADER_BYTES;
      if (crc32c(view, body, body + length) >>> 0 !== view.getUint32(position + 4))
        wrong.push(`${topic}-${partition}: a sum behind ${at} is wrong`);
      position = body + length;
    }
    at += payloads.length;
  }
  return { records: at - from, wrong };
}
