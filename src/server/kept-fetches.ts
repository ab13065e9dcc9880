// Fetches of several partitions that are not answered yet: each is kept as the bytes it came in, which is the least it can
// take, and decoded again when it is planned. Bounded for each connection and for all, because a thousand partitions stand in
// a request of 23 KiB, and a connection may have a thousand requests open. It must not know what is in the bytes.

import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { WAITING_PART_BYTES } from "../model/limits.js";
import type { Session } from "./session.js";

export class KeptFetch {
  /** Places in the catalog of partitions whose disk could not be read for it. */
  unreadable: Set<number> | undefined = undefined;

  constructor(
    readonly session: Session,
    readonly request: Uint8Array,
    /** What it counts for: its bytes, and its partitions as they are while it waits. */
    readonly cost: number,
  ) {}
}

export class KeptFetches {
  /** What all of them take. */
  bytes = 0;
  private readonly bySlot = new Map<number, KeptFetch>();

  /** The bounds: of one connection, and of all together. Whoever has nothing kept may keep one request in any case. */
  constructor(
    private readonly connectionBytesMax: number,
    private readonly bytesMax: number,
  ) {}

  /** NONE, or OVERLOADED when a request of so many bytes about so many partitions cannot be kept. */
  admit(session: Session, requestBytes: number, partitions: number): ErrorCode {
    const cost = costOf(requestBytes, partitions);
    const fits =
      this.bytes + cost <= this.bytesMax &&
      (session.keptBytes === 0 || session.keptBytes + cost <= this.connectionBytesMax);
    return fits || this.bytes === 0 ? ErrorCodes.NONE : ErrorCodes.OVERLOADED;
  }

  keep(slot: number, session: Session, request: Uint8Array, partitions: number): void {
    const cost = costOf(request.length, partitions);
    this.bySlot.set(slot, new KeptFetch(session, request, cost));
    this.bytes += cost;
    session.keptBytes += cost;
  }

  get(slot: number): KeptFetch | undefined {
    return this.bySlot.get(slot);
  }

  drop(slot: number): void {
    const kept = this.bySlot.get(slot);
    if (kept === undefined) return;
    this.bySlot.delete(slot);
    this.bytes -= kept.cost;
    kept.session.keptBytes -= kept.cost;
  }
}

const costOf = (requestBytes: number, partitions: number): number => requestBytes + partitions * WAITING_PART_BYTES;
