// Requests that wait for their answers, in the order in which they left, each with its deadline. Answers come in that order
// and in no other: what is matched is the oldest, and its correlation id only proves it.

import type { Timers } from "../model/clock.js";
import { MillraceError } from "../model/errors.js";
import type { Offset } from "../model/ids.js";
import type { RequestKind } from "../protocol/api-keys.js";
import type { MultiFetchResult } from "../protocol/fetch-multi.js";
import type { HelloResult } from "../protocol/hello.js";
import type { ListOffsetsResult } from "../protocol/list-offsets.js";
import type { TopicMetadata } from "../protocol/metadata.js";
import type { ProduceResult } from "../protocol/produce.js";

/** Stored bytes from the asked offset on. They may end in the middle of a record; records.ts walks them. */
export interface FetchAnswer {
  readonly highWatermark: Offset;
  readonly payload: Uint8Array;
}

/** What one partition of a fetch of several brought, or its error. */
export interface MultiFetchAnswer extends Omit<MultiFetchResult, "payloadFrom" | "payloadBytes"> {
  readonly payload: Uint8Array;
}

/** What each kind of request resolves to. */
export interface Answers {
  [RequestKind.PRODUCE_V1]: ProduceResult;
  [RequestKind.PRODUCE_V2]: ProduceResult;
  [RequestKind.FETCH_V1]: FetchAnswer;
  [RequestKind.FETCH_V2]: FetchAnswer;
  [RequestKind.FETCH_V3]: MultiFetchAnswer[];
  [RequestKind.METADATA_V1]: TopicMetadata[];
  [RequestKind.METADATA_V2]: TopicMetadata[];
  [RequestKind.HELLO_V1]: HelloResult;
  [RequestKind.LIST_OFFSETS_V1]: ListOffsetsResult;
}

export interface OpenRequestOf<Kind extends RequestKind> {
  readonly kind: Kind;
  readonly correlationId: number;
  /** For messages: "PRODUCE to orders-0". Made only when something failed. */
  readonly what: () => string;
  /** How long it may take, for messages. */
  readonly allowedMs: number;
  /** On the scale of {@link RequestTime.now}. */
  readonly deadline: number;
  /** The longest answer that this request can have, behind the length prefix. */
  readonly answerBytesMax: number;
  resolve: (answer: Answers[Kind]) => void;
  reject: (error: MillraceError) => void;
  /** Its deadline has passed, or nobody wants its answer any more. It keeps its place, so that its late answer is not taken for the next one's. */
  expired: boolean;
}
export type OpenRequest = { [Kind in RequestKind]: OpenRequestOf<Kind> }[RequestKind];

/** Time for deadlines, passed in so that a test moves it. */
export interface RequestTime extends Timers {
  /** Milliseconds that never go back. */
  monotonicNow(): number;
}

/** Answered requests at the front are dropped from the array when there are so many: then it costs nothing for each. */
const COMPACT_AT = 1024;

export class RequestQueue {
  private requests: OpenRequest[] = [];
  private head = 0;
  private armedFor = Number.POSITIVE_INFINITY;
  private disarm: (() => void) | undefined;
  private onDrained: (() => void)[] = [];

  constructor(private readonly time: RequestTime) {}

  get length(): number {
    return this.requests.length - this.head;
  }

  get first(): OpenRequest | undefined {
    return this.requests[this.head];
  }

  push(request: OpenRequest): void {
    this.requests.push(request);
    // One timer for all: it is moved only by a request that ends before all others, and looks again when it fires.
    if (request.deadline < this.armedFor) this.arm(request.deadline);
  }

  /** Takes the oldest out. */
  shift(): OpenRequest | undefined {
    const request = this.requests[this.head];
    if (request === undefined) return undefined;
    this.head++;
    if (this.head === this.requests.length) {
      this.requests = [];
      this.head = 0;
    } else if (this.head >= COMPACT_AT && this.head * 2 >= this.requests.length) {
      this.requests = this.requests.slice(this.head);
      this.head = 0;
    }
    if (this.onDrained.length > 0) this.tellDrained();
    return request;
  }

  /** Resolves when nobody waits for an answer any more. Those that come too late, or that were given up, may never come. */
  drained(): Promise<void> {
    if (!this.isAwaited()) return Promise.resolve();
    return new Promise((resolve) => this.onDrained.push(resolve));
  }

  /** Nobody wants the answer of this request any more. It keeps its place. */
  abandon(request: OpenRequest): void {
    request.expired = true;
    this.tellDrained();
  }

  /** Rejects all that are open; the queue is empty and its timer is gone afterwards. */
  failAll(error: MillraceError): void {
    const open = this.requests.slice(this.head);
    this.requests = [];
    this.head = 0;
    this.disarm?.();
    this.armedFor = Number.POSITIVE_INFINITY;
    for (const request of open) {
      if (!request.expired) request.reject(error);
    }
    this.tellDrained();
  }

  private arm(deadline: number): void {
    this.disarm?.();
    this.armedFor = deadline;
    this.disarm = this.time.after(Math.max(0, deadline - this.time.monotonicNow()), () => this.expire());
  }

  private expire(): void {
    const now = this.time.monotonicNow();
    let next = Number.POSITIVE_INFINITY;
    for (let i = this.head; i < this.requests.length; i++) {
      const request = this.requests[i];
      if (request.expired) continue;
      if (request.deadline > now) {
        next = Math.min(next, request.deadline);
        continue;
      }
      request.expired = true;
      const text = `${request.what()}: no answer before its deadline of ${Math.round(request.allowedMs)} ms`;
      request.reject(new MillraceError("REQUEST_TIMEOUT", text));
    }
    this.armedFor = Number.POSITIVE_INFINITY;
    this.disarm = undefined;
    if (next !== Number.POSITIVE_INFINITY) this.arm(next);
    this.tellDrained();
  }

  /** Somebody waits for the answer of one that is open. */
  isAwaited(): boolean {
    for (let i = this.head; i < this.requests.length; i++) if (!this.requests[i].expired) return true;
    return false;
  }

  private tellDrained(): void {
    if (this.onDrained.length === 0 || this.isAwaited()) return;
    const waiting = this.onDrained;
    this.onDrained = [];
    for (const resolve of waiting) resolve();
  }
}
