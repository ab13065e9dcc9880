// A link that is made again when it is lost, for what may be asked twice: metadata, places in a log, and the polls of a
// consumer. A producer has other rules, a follower its own positions; neither stands on this.

import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { MillraceError } from "../model/errors.js";
import { CLIENT_RECONNECT_MS_MAX, CLIENT_RECONNECT_MS_MIN } from "../model/limits.js";
import { onAbort, unlessAborted } from "./abort.js";
import { Backoff } from "./backoff.js";
import { connectionClosed } from "./connection-failure.js";
import type { Bounds } from "./deadline.js";
import type { Link } from "./link.js";
import { isRetriable } from "./retriable.js";

/** Whoever can carry a request. */
export interface LinkUser {
  /** Runs `ask` on a link, as often as it takes. */
  use<T>(ask: (link: Link) => Promise<T>, bounds?: Partial<Bounds>, asking?: Asking): Promise<T>;
}

/**
 * What an abort does while a link is asked. `left`: the answer goes nowhere; for what cannot be taken back. `obeyed`: what asks ends by
 * itself, and until it has it is waited for; for what has an effect when its answer has come, so that it has it or is told that it has not.
 */
export type Asking = "left" | "obeyed";

/** A link as it is: what fails on it fails. */
export function linkUser(links: Link | LinkUser): LinkUser {
  return "use" in links ? links : { use: (ask) => ask(links) };
}

export interface SteadyLinkOptions {
  readonly connect: () => Promise<Link>;
  /** For messages. */
  readonly address: string;
  /** How long a request is tried again, in milliseconds from its first failure on. */
  readonly retryMs: number;
  /** For the jitter of the pauses; in [0, 1). */
  readonly random?: () => number;
}

export class SteadyLink implements LinkUser {
  private link: Promise<Link> | undefined;
  /** Ends the pauses between tries. */
  private readonly closing = new AbortController();
  private reason: MillraceError | undefined;

  constructor(private readonly options: SteadyLinkOptions) {}

  /**
   * Rejects with what no other link puts right, or with the last failure once `retryMs` have passed since the first; with the
   * signal's reason, or with CLOSED.
   */
  async use<T>(
    ask: (link: Link) => Promise<T>,
    { signal, failed }: Partial<Bounds> = {},
    asking: Asking = "left",
  ): Promise<T> {
    const { retryMs, random = Math.random } = this.options;
    // One for each request: those that fail together do not make each other wait longer.
    const backoff = new Backoff(CLIENT_RECONNECT_MS_MIN, CLIENT_RECONNECT_MS_MAX, random);
    let giveUpAt: number | undefined;
    for (;;) {
      let link: Promise<Link> | undefined;
      let made = false;
      try {
        signal?.throwIfAborted();
        link = this.connected();
        const on = await unlessAborted(unlessAborted(link, signal), this.closing.signal);
        made = true;
        return await unlessAborted(ask(on), asking === "left" ? signal : undefined);
      } catch (error) {
        // Whoever waited for its answer until the end of its time, or gave up a poll, for which the broker waits on, leaves the link to
        // nobody: the next call would stand behind it.
        const isInTheWay = asking === "obeyed" || isRetriable(signal?.reason);
        if (made && signal?.aborted && isInTheWay) this.drop(link);
        if (signal?.aborted) throw signal.reason;
        if (this.closing.signal.aborted) throw this.closed();
        // Another call that failed on it has dropped it.
        const isLeft = made && this.link !== link && error instanceof MillraceError && error.code === "CLOSED";
        if (!isLeft && !isRetriable(error)) throw error;
        failed?.(error);
        this.drop(link);
        const now = performance.now();
        giveUpAt ??= now + retryMs;
        const pauseMs = backoff.next();
        if (now + pauseMs > giveUpAt) throw error;
        await this.pause(pauseMs, signal);
      }
    }
  }

  /** Makes the link now, once: rejects with why it cannot be. */
  async open(): Promise<void> {
    await this.connected();
  }

  /**
   * At once: what is open, and what is asked later, is rejected with CLOSED, or with `reason`, which says what was closed; pauses and a
   * link that is just being made end. All of it was only asked.
   */
  destroy(reason?: MillraceError): void {
    this.reason ??= reason;
    this.closing.abort(this.closed());
    this.drop(this.link);
  }

  private connected(): Promise<Link> {
    if (this.closing.signal.aborted) return Promise.reject(this.closed());
    if (this.link === undefined) {
      const link = this.options.connect();
      this.link = link;
      // What could not be made is not kept.
      link.catch(() => this.drop(link));
    }
    return this.link;
  }

  /** Several may have failed on it: only the first drops it, the others would drop the next one. */
  private drop(link: Promise<Link> | undefined): void {
    if (link === undefined || this.link !== link) return;
    this.link = undefined;
    void link.then(
      (lost) => lost.destroy(),
      () => undefined,
    );
  }

  private async pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const wake = new AbortController();
    const unheard = [signal, this.closing.signal].map((each) => each && onAbort(each, () => wake.abort()));
    try {
      await sleep(ms, undefined, { signal: wake.signal });
    } catch {
      // The next try says which of the two it was.
    } finally {
      for (const stop of unheard) stop?.();
    }
  }

  private closed(): MillraceError {
    return this.reason ?? connectionClosed(this.options.address);
  }
}
