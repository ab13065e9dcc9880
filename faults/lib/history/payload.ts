// Records that say who they are, and whose every byte follows from that: what is read is either exactly what was sent or made up.
//
//   0   u32 magic | 4  u32 producer | 8  u32 sequence | 12  u32 size of the whole | 16  filler that follows from all of these

const MAGIC = 0x6d6c7268;
/** The smallest record that can say who it is. */
export const PAYLOAD_BYTES_MIN = 16;

/** A record by producer and sequence in one number, so that a million of them fit into arrays of numbers. */
export type RecordId = number;

const SEQUENCES = 0x1_0000_0000;

export const recordId = (producer: number, sequence: number): RecordId => producer * SEQUENCES + sequence;
export const producerOf = (id: RecordId): number => Math.floor(id / SEQUENCES);
export const sequenceOf = (id: RecordId): number => id % SEQUENCES;
export const shownId = (id: RecordId): string => `record ${sequenceOf(id)} of producer ${producerOf(id)}`;

function fillerOf(producer: number, sequence: number, size: number): number {
  let mixed = Math.imul(producer + 1, 0x9e3779b1) ^ Math.imul(sequence + 1, 0x85ebca6b) ^ Math.imul(size, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  return mixed ^ (mixed >>> 13);
}

/** What byte `at` of a record is; never all the same, so that a shifted record is not taken for a whole one. */
const byteOf = (filler: number, at: number): number => ((filler >>> ((at & 3) * 8)) ^ Math.imul(at, 0x9d)) & 0xff;

export function makePayload(producer: number, sequence: number, size: number): Uint8Array {
  if (size < PAYLOAD_BYTES_MIN) throw new Error(`a record of ${size} bytes cannot say who it is`);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC);
  view.setUint32(4, producer);
  view.setUint32(8, sequence);
  view.setUint32(12, size);
  const filler = fillerOf(producer, sequence, size);
  for (let at = PAYLOAD_BYTES_MIN; at < size; at++) bytes[at] = byteOf(filler, at);
  return bytes;
}

/** Whose record that is; undefined when a single byte is not as it was made. */
export function identify(bytes: Uint8Array): RecordId | undefined {
  if (bytes.length < PAYLOAD_BYTES_MIN) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const producer = view.getUint32(4);
  const sequence = view.getUint32(8);
  if (view.getUint32(0) !== MAGIC || view.getUint32(12) !== bytes.length) return undefined;
  const filler = fillerOf(producer, sequence, bytes.length);
  for (let at = PAYLOAD_BYTES_MIN; at < bytes.length; at++) if (bytes[at] !== byteOf(filler, at)) return undefined;
  return recordId(producer, sequence);
}
