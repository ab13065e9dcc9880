// What the server knows of one connection: which replies it owes, in order. Nothing of what a reader has read: an offset comes
// with each request and goes with its answer.

import type { Topic } from "../broker/topic.js";
import type { WaitingFetch } from "../log/waiting/waiting-fetch.js";

/** The end of a list of reply slots. */
export const NO_SLOT = -1;

export class Session {
  /** Slots of the requests that are not answered, oldest first: the ends of a list that lies in {@link ReplySlots}. */
  first: number = NO_SLOT;
  last: number = NO_SLOT;
  /** Requests without a reply that are done and not reported to the selector yet. */
  completed = 0;
  /** Stands in the server's list of sessions that may have something to send. */
  dirty = false;
  /** What fetches of several partitions take that are kept for it. */
  keptBytes = 0;
  /** Its next request is this fetch. There is never a second one: those behind it are planned when it is answered. */
  waiting: WaitingFetch | undefined = undefined;
  /**
   * Its peer may be gone: it sends nothing more, which is also what a peer does that still wants its answers. It gets them,
   * and fetches do not wait for it.
   */
  inputEnded = false;
  /** A timer will look at it again. */
  putOff = false;
  /** The topic of the last request: mostly also that of the next. */
  topic: Topic | undefined = undefined;

  /** When it last asked for what a producer asks for, as a stamp of {@link ReplySlots.turnStamp}; of a reader, never. */
  private producedAt = Number.NEGATIVE_INFINITY;
  private isProducer = false;

  constructor(readonly connection: number) {}

  /** It has appended something. */
  produces(stamp: number): void {
    this.isProducer = true;
    this.producedAt = stamp;
  }

  /** It has asked what the first requests of both kinds of clients ask. */
  asks(stamp: number): void {
    this.producedAt = stamp;
  }

  /** It has read something. What fails of that is read again, so a stop need not care. */
  reads(): void {
    if (!this.isProducer) this.producedAt = Number.NEGATIVE_INFINITY;
  }

  /** Its peer may be about to append something: it was at that since then, and has not said that it sends nothing more. */
  mayProduce(since: number): boolean {
    return this.producedAt > since && !this.inputEnded;
  }
}
