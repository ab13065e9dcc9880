// Which partition a record goes to. The key stays in the client: only the number it leads to goes on the wire.

import { badArgument } from "../model/arguments.js";
import { type PartitionId, partitionId } from "../model/ids.js";
import { badText, INT32_MAX, isWholeText, outOfRange } from "./checks.js";

const FNV_OFFSET_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const ASCII_MAX = 0x7f;

/** FNV-1a, 32 bit, unsigned. */
export function fnv1a(bytes: Uint8Array): number {
  if (!(bytes instanceof Uint8Array)) throw badArgument("bytes", bytes, "a Uint8Array");
  let hash = FNV_OFFSET_BASIS;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], FNV_PRIME);
  return hash >>> 0;
}

function checkCount(partitions: number): void {
  const bad = outOfRange("partitions", partitions, 1, INT32_MAX);
  if (bad !== undefined) throw bad;
}

/** The partition of a key among `partitions`; text is taken as UTF-8. Every client in every language computes the same. */
export function partitionOfKey(key: Uint8Array | string, partitions: number): PartitionId {
  checkCount(partitions);
  return partitionId((typeof key === "string" ? hashOfText(key) : fnv1a(key)) % partitions);
}

/** Keys are mostly short and ASCII: those need no bytes of their own. */
function hashOfText(text: string): number {
  let hash = FNV_OFFSET_BASIS;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > ASCII_MAX) {
      if (!isWholeText(text)) throw badText("key", text);
      return fnv1a(Buffer.from(text));
    }
    hash = Math.imul(hash ^ unit, FNV_PRIME);
  }
  return hash >>> 0;
}

/**
 * Where records without a key go: round robin, a batch at a time. A record at a time would spread each batch over all
 * partitions, and a broker would get as many small requests as there are partitions instead of one large one.
 */
export class RoundRobin {
  private next = 0;

  constructor(private readonly partitions: number) {
    checkCount(partitions);
  }

  /** The partition of the batch that is being filled. */
  get current(): PartitionId {
    return partitionId(this.next);
  }

  /** The batch was closed. */
  advance(): void {
    this.next = (this.next + 1) % this.partitions;
  }
}
