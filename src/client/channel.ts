// A socket on which requests go out and answers come in, matched in order. Which requests there are is connection.ts's; this
// file knows when a socket can no longer be trusted, and that everything that was asked on it then ends.

import { connect as connectSocket, type Socket } from "node:net";
import { ErrorCodes } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";
import { CLIENT_KEEP_ALIVE_MS, CLIENT_READ_BYTES } from "../model/limits.js";
import type { RequestKind } from "../protocol/api-keys.js";
import { onAbort } from "./abort.js";
import { addressText, type BrokerAddress } from "./address.js";
import { AnswerCutter } from "./answer-cutter.js";
import { settle } from "./answers.js";
import { connectFailed, connectionClosed, connectionLost } from "./connection-failure.js";
import { type BrokerError, brokerError } from "./errors.js";
import { Outbox } from "./outbox.js";
import { type Answers, type OpenRequest, type OpenRequestOf, RequestQueue, type RequestTime } from "./request-queue.js";

type State = "connecting" | "open" | "closing" | "closed";

/** How long a broker may take to close its side after this one closed. */
const CLOSE_WAIT_MS = 2_000;
const CORRELATION_ID_MAX = 0x7fff_ffff;
/** In an answer behind its length prefix, the correlation id comes first. */
const ANSWER_CORRELATION_AT = 0;
const ANSWER_ERROR_AT = 4;

export class Channel {
  /** Resolves when the socket is gone: with the error, or with undefined when this side closed it. */
  readonly closed: Promise<MillraceError | undefined>;
  readonly address: string;
  readonly outbox: Outbox;
  private readonly socket: Socket;
  private readonly queue: RequestQueue;
  private state: State = "connecting";
  private failure: MillraceError | undefined;
  /** The broker has said that it stops: it carries out nothing any more that comes, or came, behind what it refused so. */
  private farewell: BrokerError | undefined;
  private cancelFarewell: (() => void) | undefined;
  private closing: Promise<void> | undefined;
  /** Those who wait for the kernel. Not a race with `closed`: that would keep something of each for as long as the connection is open. */
  private readonly onFlushed: (() => void)[] = [];
  private lastCorrelationId = 0;
  /** Until when the broker may keep the answers that are due now, because a fetch before them waits. */
  private waitingUntil = 0;
  private resolveClosed!: (error: MillraceError | undefined) => void;

  constructor(
    target: BrokerAddress,
    private readonly time: RequestTime,
  ) {
    this.address = addressText(target);
    this.queue = new RequestQueue(time);
    this.closed = new Promise((resolve) => {
      this.resolveClosed = resolve;
    });
    const buffer = Buffer.allocUnsafeSlow(CLIENT_READ_BYTES);
    const cutter = new AnswerCutter(buffer, {
      nextAnswerBytesMax: () => this.expected().answerBytesMax,
      answer: (view, from, end, owned) => this.answered(view, from, end, owned),
    });
    const onread = { buffer: () => cutter.room(), callback: (bytes: number) => this.received(cutter, bytes) };
    const keepAlive = { keepAlive: true, keepAliveInitialDelay: CLIENT_KEEP_ALIVE_MS };
    this.socket = connectSocket({ ...target, noDelay: true, ...keepAlive, onread });
    this.outbox = new Outbox(this.socket);
    this.socket.on("error", (error) => this.socketFailed(error));
    this.socket.on("close", () => this.socketFailed(undefined));
    this.socket.on("drain", () => this.tellFlushed());
  }

  get openRequests(): number {
    return this.queue.length;
  }

  /** Resolves when the socket is connected; rejects with CONNECTION_FAILED, also after `timeoutMs`. */
  async open(timeoutMs: number): Promise<void> {
    const late = `could not connect to ${this.address} in ${timeoutMs} ms`;
    const cancel = this.time.after(timeoutMs, () => this.break(new MillraceError("CONNECTION_FAILED", late)));
    try {
      await new Promise<void>((resolve, reject) => {
        this.socket.once("connect", resolve);
        void this.closed.then((error) => reject(error ?? connectionClosed(this.address)));
      });
      this.state = "open";
    } finally {
      cancel();
    }
  }

  /** Why a request cannot be sent now. */
  private refusal(): MillraceError | undefined {
    if (this.state === "open") return undefined;
    return this.failure ?? connectionClosed(this.address);
  }

  /**
   * Sends what `write` puts into the outbox under the correlation id it is given, and waits for the answer. The broker may
   * take `waitMs` before it answers; `timeoutMs` come on top of that, and on top of the waits of those before it: answers come
   * in order. Rejects with the signal's reason as soon as it is aborted; the answer, which comes all the same, goes nowhere.
   */
  request<Kind extends RequestKind>(
    kind: Kind,
    what: () => string,
    answerBytesMax: number,
    timeoutMs: number,
    write: (correlationId: number) => void,
    waitMs = 0,
    signal?: AbortSignal,
  ): Promise<Answers[Kind]> {
    return new Promise((resolve, reject) => {
      const refusal = this.refusal();
      if (refusal !== undefined || signal?.aborted) {
        reject(signal?.aborted ? signal.reason : refusal);
        return;
      }
      const correlationId = this.nextCorrelationId();
      const now = this.time.monotonicNow();
      if (this.queue.length === 0) this.waitingUntil = now;
      this.waitingUntil = Math.max(this.waitingUntil, now + waitMs);
      const request: OpenRequestOf<Kind> = {
        kind,
        correlationId,
        what,
        allowedMs: this.waitingUntil + timeoutMs - now,
        deadline: this.waitingUntil + timeoutMs,
        answerBytesMax,
        resolve,
        reject,
        expired: false,
      };
      write(correlationId);
      // TypeScript does not see that an OpenRequestOf any kind is one of the union.
      const open = request as unknown as OpenRequest;
      if (signal !== undefined) abandonOn(signal, request, () => this.queue.abandon(open));
      this.queue.push(open);
      this.outbox.filled();
    });
  }

  /** Sends what has no answer. Throws why it cannot be sent. */
  post(write: (correlationId: number) => void): void {
    const refusal = this.refusal();
    if (refusal !== undefined) throw refusal;
    write(this.nextCorrelationId());
    this.outbox.filled();
  }

  private nextCorrelationId(): number {
    this.lastCorrelationId = this.lastCorrelationId === CORRELATION_ID_MAX ? 1 : this.lastCorrelationId + 1;
    return this.lastCorrelationId;
  }

  /** Resolves when the kernel has taken what was sent, or the socket is gone. */
  async flushed(): Promise<void> {
    this.outbox.flush();
    if (this.state === "closed" || !this.socket.writableNeedDrain) return;
    await new Promise<void>((resolve) => this.onFlushed.push(resolve));
  }

  private tellFlushed(): void {
    for (const resolve of this.onFlushed.splice(0)) resolve();
  }

  /** Takes no more requests, waits for the answers of those that are open (each has a deadline), and closes. */
  close(): Promise<void> {
    this.closing ??= this.closeOnce();
    return this.closing;
  }

  /** Closes at once; what is open is rejected with CLOSED. */
  destroy(): void {
    this.finish(connectionClosed(this.address), undefined);
  }

  /** Ends the channel because of what came on it: nothing that follows can be trusted. Returns what everybody is told. */
  distrust(cause: MillraceError): MillraceError {
    const error = connectionLost(this.address, cause);
    this.break(error);
    return error;
  }

  private async closeOnce(): Promise<void> {
    if (this.state === "open") this.state = "closing";
    this.outbox.flush();
    await this.queue.drained();
    this.socket.end();
    const cancel = this.time.after(CLOSE_WAIT_MS, () => this.destroy());
    await this.closed;
    cancel();
  }

  private received(cutter: AnswerCutter, bytes: number): boolean {
    // What was in the kernel when the channel broke may still come.
    if (this.state === "closed") return false;
    try {
      cutter.take(bytes);
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      this.break(connectionLost(this.address, error));
    }
    return true;
  }

  private expected(): OpenRequest {
    const request = this.queue.first;
    if (request !== undefined) return request;
    throw new MillraceError("BAD_RESPONSE", "an answer came to no request");
  }

  private answered(view: DataView, from: number, end: number, owned: boolean): void {
    const request = this.expected();
    const correlationId = view.getInt32(from + ANSWER_CORRELATION_AT);
    if (correlationId !== request.correlationId) {
      const text = `an answer with correlation id ${correlationId} came where ${request.correlationId} was due`;
      throw new MillraceError("BAD_RESPONSE", text);
    }
    if (!request.expired) settle(request, view, from, end, owned);
    // Only now: when it could not be settled it is still open, and ends with the others.
    this.queue.shift();
    if (view.getInt16(from + ANSWER_ERROR_AT) === ErrorCodes.SHUTTING_DOWN) this.takeLeave();
  }

  /** Sends nothing more, so that the broker need not wait, and takes the answers that still come. What has none then is refused, too. */
  private takeLeave(): void {
    if (this.farewell !== undefined || this.state === "closed") return;
    const error = brokerError(ErrorCodes.SHUTTING_DOWN, `requests to ${this.address}`);
    this.farewell = error;
    this.failure = error;
    this.state = "closing";
    this.outbox.drop();
    this.socket.end();
    this.cancelFarewell = this.time.after(CLOSE_WAIT_MS, () => this.break(error));
  }

  private socketFailed(cause: Error | undefined): void {
    if (this.farewell !== undefined) this.break(this.farewell);
    else if (this.state === "closing" && !this.queue.isAwaited())
      this.finish(connectionClosed(this.address), undefined);
    else if (this.state === "connecting") this.break(connectFailed(this.address, cause));
    else this.break(connectionLost(this.address, cause));
  }

  private break(error: MillraceError): void {
    this.finish(error, error);
  }

  private finish(toOpenRequests: MillraceError, failure: MillraceError | undefined): void {
    if (this.state === "closed") return;
    this.state = "closed";
    this.failure = failure;
    this.cancelFarewell?.();
    this.socket.destroy();
    this.queue.failAll(toOpenRequests);
    this.tellFlushed();
    this.resolveClosed(failure);
  }
}

/** Rejects a request when its signal is aborted. It keeps its place in the queue, so that its answer is not taken for another. */
function abandonOn<Kind extends RequestKind>(
  signal: AbortSignal,
  request: OpenRequestOf<Kind>,
  giveUp: () => void,
): void {
  const { resolve, reject } = request;
  const abandon = (): void => {
    giveUp();
    reject(signal.reason);
  };
  const unheard = onAbort(signal, abandon);
  request.resolve = (answer) => {
    unheard();
    resolve(answer);
  };
  request.reject = (error) => {
    unheard();
    reject(error);
  };
}
