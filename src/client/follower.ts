// Reads several partitions on and on over one connection, and over the next one when that is cut: from the positions it had,
// so that what was read is not read again and nothing is left out. The broker waits until something comes (FETCH v3, v2), so
// a follower that has caught up costs a request in twenty seconds. What records are is read-position.ts's.

import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { MillraceError } from "../model/errors.js";
import {
  CLIENT_FOLLOW_BYTES,
  CLIENT_FOLLOW_WAIT_MS,
  CLIENT_RECONNECT_MS_MAX,
  CLIENT_RECONNECT_MS_MIN,
} from "../model/limits.js";
import { onAbort, unlessAborted } from "./abort.js";
import { AnswerSize } from "./answer-size.js";
import { Backoff } from "./backoff.js";
import { type Failure, fetchRound, type Round } from "./fetch-round.js";
import type { Link } from "./link.js";
import { tell } from "./observer.js";
import type { ReadPosition } from "./read-position.js";
import type { RecordBatch } from "./record-batch.js";
import { isRetriable } from "./retriable.js";

export interface FollowerOptions {
  /** Opens a connection for this follower alone. It is asked again after each cut. */
  readonly connect: () => Promise<Link>;
  /** Where to read: 1 to 1000 partitions, each once. Those that have an end are read to it, and when all are there it ends. */
  readonly positions: readonly ReadPosition[];
  /** At most so many bytes for all partitions at a time. Default 4 MiB, or what one position asks for when that is more. */
  readonly maxBytes?: number;
  /** How long the broker may wait for something to come. Default 20 seconds. */
  readonly maxWaitMs?: number;
  /** How much must be there to end its wait, in bytes as stored. Default 1. */
  readonly minBytes?: number;
  /** How long a request may take beyond that wait until the connection is given up. Default: the connection's. */
  readonly timeoutMs?: number;
  /** Ends the following: the iteration throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** The connection was lost, or could not be made again, and will be tried in `retryMs`. */
  readonly onLost?: (error: MillraceError, retryMs: number) => void;
  /** The broker has answered again after that. */
  readonly onRecovered?: () => void;
  /**
   * A position was refused, and what came before was handled. True: it has been moved, and is read on from there. Else the
   * iteration throws the error.
   */
  readonly restart?: (link: Link, refused: Failure) => Promise<boolean>;
  /**
   * A connection was made anew, after a cut or a restart of the broker; nothing was asked on it yet. What this resolves to is read from
   * now on as well. Rejects like a request.
   */
  readonly reconnected?: (link: Link) => Promise<readonly ReadPosition[]>;
  /** For the jitter of the pauses; in [0, 1). */
  readonly random?: () => number;
  /** Milliseconds that never go back: how quick the reader is. */
  readonly monotonicNow?: () => number;
}

/** What was read, and what no other connection puts right. */
type Read = Pick<Round, "batches" | "failures">;

export class Follower implements AsyncIterable<readonly RecordBatch[]> {
  private readonly positions: ReadPosition[];
  private readonly maxBytes: number;
  private readonly answerSize: AnswerSize;
  private readonly now: () => number;
  private readonly backoff: Backoff;
  private connection: Link | undefined;
  private connectedOnce = false;
  private failing = false;
  /** A partition of the last answer was refused for now. */
  private refused: MillraceError | undefined;
  private closed = false;
  /** Whose turn it is to be first. */
  private turn = 0;

  constructor(private readonly options: FollowerOptions) {
    this.positions = [...options.positions];
    const largest = Math.max(...options.positions.map(({ maxBytes }) => maxBytes));
    this.maxBytes = options.maxBytes ?? Math.max(CLIENT_FOLLOW_BYTES, largest);
    this.answerSize = new AnswerSize(this.maxBytes);
    this.now = options.monotonicNow ?? (() => performance.now());
    this.backoff = new Backoff(CLIENT_RECONNECT_MS_MIN, CLIENT_RECONNECT_MS_MAX, options.random ?? Math.random);
  }

  /**
   * The batches of each answer, one for each partition that brought records. The next answer is on its way while one is
   * handled; not more than that, so whoever handles slowly slows the reading down.
   *
   * Throws what no other connection puts right: {@link LogTruncatedError}, OFFSET_OUT_OF_RANGE, {@link CorruptRecordError}, …,
   * after what came beside it was given; and the first time what keeps it from connecting. It is iterated once.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<readonly RecordBatch[], void, undefined> {
    const { signal } = this.options;
    const unheard = signal && onAbort(signal, () => this.close());
    try {
      let next: Promise<Read> | undefined = ahead(this.round());
      while (next !== undefined) {
        const { batches, failures }: Read = await next;
        signal?.throwIfAborted();
        next = failures.length === 0 ? this.ahead() : undefined;
        if (batches.length > 0) {
          // Before they may be released.
          const bytes = batches.reduce((sum, batch) => sum + batch.bytes.length, 0);
          const givenAt = this.now();
          yield batches;
          this.answerSize.handled(bytes, this.now() - givenAt);
        }
        if (failures.length === 0) continue;
        await this.restart(failures);
        next = this.ahead();
      }
    } finally {
      unheard?.();
      this.close();
    }
  }

  private close(): void {
    this.closed = true;
    this.connection?.destroy();
  }

  /** Undefined: there is nothing left. */
  private ahead(): Promise<Read> | undefined {
    return this.positions.every(({ isDone }) => isDone) ? undefined : ahead(this.round());
  }

  /** The next answer that has something in it, or that ends the reading. */
  private async round(): Promise<Read> {
    for (;;) {
      const { refused } = this;
      this.refused = undefined;
      if (refused !== undefined) await this.failed(refused);
      const round = await this.tryRound();
      if (round === undefined) continue;
      const { batches } = round;
      const failures = round.failures.filter(({ error }) => !isRetriable(error));
      // What came beside it is given first; the next round pauses and connects again.
      if (failures.length === 0) this.refused = round.failures[0]?.error;
      const isSomething = failures.length > 0 || batches.some(({ length }) => length > 0);
      if (isSomething || this.positions.every(({ isDone }) => isDone)) {
        return { batches: batches.filter(({ length }) => length > 0), failures };
      }
    }
  }

  /** Moves the positions that were refused, or throws why one cannot be moved. */
  private async restart(failures: readonly Failure[]): Promise<void> {
    for (const failure of failures) {
      let moved = false;
      while (!moved) {
        try {
          const link = await this.connected();
          moved = await unlessAborted(this.moves(link, failure), this.options.signal);
        } catch (error) {
          this.options.signal?.throwIfAborted();
          if (this.closed || !isRetriable(error)) throw error;
          await this.failed(error);
          continue;
        }
        if (!moved) throw failure.error;
      }
    }
  }

  private async moves(link: Link, failure: Failure): Promise<boolean> {
    return (await this.options.restart?.(link, failure)) ?? false;
  }

  /** Undefined: it could not be asked, and a pause has passed. */
  private async tryRound(): Promise<Round | undefined> {
    const { signal, maxWaitMs = CLIENT_FOLLOW_WAIT_MS, minBytes = 1, timeoutMs } = this.options;
    try {
      // Without an await in between, the request leaves before what came last is given.
      const connection = this.connection ?? (await this.connected());
      const inTurn = this.inTurn();
      this.answerSize.share(inTurn);
      const bytes = Math.max(this.maxBytes, inTurn[0]?.wantedBytes ?? 0);
      // The first answer after a cut says that the broker is back: with nothing to read it would come only after the wait.
      const isAtOnce = this.failing || inTurn.some(({ isToBeChecked }) => isToBeChecked);
      const wait = isAtOnce ? { timeoutMs } : { maxWaitMs, minBytes, timeoutMs };
      const round = await fetchRound(connection, inTurn, bytes, wait);
      if (!round.failures.some(({ error }) => isRetriable(error))) this.succeeded();
      this.turn = this.nextTurn(inTurn, round);
      return round;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (this.closed || !isRetriable(error) || !this.connectedOnce) throw error;
      await this.failed(error);
      return undefined;
    }
  }

  private async connected(): Promise<Link> {
    if (this.connection !== undefined) return this.connection;
    const { connect, signal } = this.options;
    const connecting = connect();
    // It may take seconds; whoever is left behind by the signal is not needed any more.
    connecting.then(
      (late) => this.closed && late.destroy(),
      () => undefined,
    );
    const connection = await unlessAborted(connecting, signal);
    if (this.connectedOnce) await this.reconnected(connection);
    if (this.closed) {
      connection.destroy();
      throw new MillraceError("CLOSED", "the follower was closed while it connected");
    }
    this.connection = connection;
    this.connectedOnce = true;
    return connection;
  }

  private async reconnected(link: Link): Promise<void> {
    const { reconnected, signal } = this.options;
    if (reconnected === undefined) return;
    try {
      this.positions.push(...(await unlessAborted(reconnected(link), signal)));
    } catch (error) {
      link.destroy();
      throw error;
    }
  }

  private async failed(error: MillraceError): Promise<void> {
    this.connection?.destroy();
    this.connection = undefined;
    this.failing = true;
    const retryMs = this.backoff.next();
    tell(this.options.onLost, error, retryMs);
    const { signal } = this.options;
    try {
      await sleep(retryMs, undefined, { signal });
    } catch {
      throw signal?.reason;
    }
  }

  private succeeded(): void {
    this.backoff.reset();
    if (!this.failing) return;
    this.failing = false;
    tell(this.options.onRecovered);
  }

  private inTurn(): ReadPosition[] {
    const { positions } = this;
    return [...positions.slice(this.turn), ...positions.slice(0, this.turn)].filter(({ isDone }) => !isDone);
  }

  /**
   * An answer is filled from the front, and the first gets its bytes in any case. So whoever had more to read and got nothing
   * goes first; if there is nobody like that, whoever stands behind the last that got something.
   */
  private nextTurn(inTurn: readonly ReadPosition[], { batches }: Round): number {
    const { positions } = this;
    const served = new Set(batches.map(({ topic, partition }) => `${topic}-${partition}`));
    const got = inTurn.map(({ topic, partition }) => served.has(`${topic}-${partition}`));
    const starved = inTurn.findIndex(({ lag }, i) => lag > 0 && !got[i]);
    const steps = starved >= 0 ? starved : got.lastIndexOf(true) + 1;
    return positions.indexOf(inTurn[steps % inTurn.length] as ReadPosition);
  }
}

/** Nobody waits for it when handling what came before fails. */
function ahead<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
