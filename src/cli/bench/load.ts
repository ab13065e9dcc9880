// The load: requests that are due at their times whether or not those before them were answered (open loop), or as many as are
// answered (closed loop). In the open loop a latency counts from when its request was due: a broker that stands still for a second
// then shows in all that came in that second, and not in the one request that a loop of question and answer would have open.

import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import type { Connection } from "../../client/connection.js";
import type { RecordRegion } from "../../client/record-region.js";
import { Window } from "../../client/window.js";
import type { AckPolicy } from "../../model/ack-policy.js";
import { MillraceError } from "../../model/errors.js";
import { PRODUCE_IN_FLIGHT_BATCHES, PRODUCE_IN_FLIGHT_BYTES } from "../../model/limits.js";
import { Latencies } from "./latencies.js";

export interface LoadOptions {
  readonly topic: string;
  readonly partitions: number;
  readonly connections: readonly Connection[];
  /** What each request carries. */
  readonly region: RecordRegion;
  readonly ack: typeof AckPolicy.FORCED | typeof AckPolicy.WRITTEN;
  /** Requests a second; undefined: as many as are answered. */
  readonly requestsPerSecond: number | undefined;
  /** Closed loop: requests of each connection that are open. */
  readonly inFlight: number;
  /** What is sent in this time at the beginning is not counted. */
  readonly warmUpMs: number;
  readonly durationMs: number;
  readonly onProgress: () => void;
}

/** A timer comes up to so much late; what is due sooner is waited for by turns of the event loop. */
const TIMER_MS = 2;
/** Requests that are late go out in groups, so that answers are read in between. */
const SENT_IN_A_TURN = 32;

export class Load {
  /** From when a request was due to its answer, in milliseconds. */
  readonly latencies = new Latencies();
  /** From when it was due to when it was sent: what of that is the generator's, or was spent waiting for room on the connection. */
  readonly lateness = new Latencies();
  /** Requests that failed, by code. */
  readonly failed = new Map<string, number>();
  /** Requests that were sent, warm-up included. */
  sent = 0;
  /** How long what is counted took, to its last answer, in milliseconds. */
  measuredMs = 0;
  private readonly windows: readonly Window[];
  private readonly startedAt = performance.now();
  private countFrom = 0;
  private until = 0;
  private lastAnswerAt = 0;
  private stopped = false;
  private lost: MillraceError | undefined;

  constructor(private readonly options: LoadOptions) {
    const { connections, requestsPerSecond, inFlight } = options;
    const open = requestsPerSecond === undefined ? inFlight : PRODUCE_IN_FLIGHT_BATCHES;
    this.windows = connections.map(() => new Window(PRODUCE_IN_FLIGHT_BYTES, open));
    for (const connection of connections) {
      void connection.closed.then((error) => {
        this.lost ??= error;
        this.stopped = true;
      });
    }
  }

  /** Sends, and waits for all answers. Rejects when a connection was lost. */
  async run(): Promise<void> {
    const { warmUpMs, durationMs, requestsPerSecond } = this.options;
    const beginAt = performance.now();
    this.countFrom = beginAt + warmUpMs;
    this.until = this.countFrom + durationMs;
    if (requestsPerSecond === undefined) await this.closedLoop();
    else await this.openLoop(beginAt, 1000 / requestsPerSecond);
    await Promise.all(this.windows.map((window) => window.empty()));
    this.measuredMs = Math.max(this.lastAnswerAt - this.countFrom, 0);
    if (this.lost !== undefined) throw this.lost;
  }

  /** Sends nothing more. */
  stop(): void {
    this.stopped = true;
  }

  /** Share of the time that is over, 0 to 1. */
  get share(): number {
    return Math.min(1, (performance.now() - this.startedAt) / (this.options.warmUpMs + this.options.durationMs));
  }

  private async openLoop(beginAt: number, intervalMs: number): Promise<void> {
    const { warmUpMs, durationMs } = this.options;
    for (let number = 0; !this.stopped; number++) {
      // Counted from the beginning: added to a clock of many digits, the last request would be in or out by chance.
      const dueMs = number * intervalMs;
      if (dueMs >= warmUpMs + durationMs) return;
      const due = beginAt + dueMs;
      await this.pauseUntil(due);
      const window = this.windows[number % this.windows.length];
      if (window.isFull) await window.room();
      this.send(number, due, dueMs >= warmUpMs);
      if (number % SENT_IN_A_TURN === 0) await turn();
    }
  }

  private async closedLoop(): Promise<void> {
    let number = 0;
    const loop = async (window: Window, connection: number): Promise<void> => {
      while (!this.stopped) {
        await window.room();
        const now = performance.now();
        if (now >= this.until) return;
        this.send(connection + this.windows.length * number++, now, now >= this.countFrom);
      }
    };
    await Promise.all(this.windows.map(loop));
  }

  private async pauseUntil(due: number): Promise<void> {
    for (let early = due - performance.now(); early > 0; early = due - performance.now()) {
      if (this.stopped) return;
      if (early > TIMER_MS) await sleep(early - TIMER_MS);
      else await turn();
    }
  }

  private send(number: number, due: number, counts: boolean): void {
    const { topic, partitions, connections, region, ack } = this.options;
    const at = number % connections.length;
    const sentAt = performance.now();
    if (counts) this.lateness.record(sentAt - due);
    this.sent++;
    this.windows[at].enter(region.bytes.length);
    connections[at].produce(topic, number % partitions, region, { ack }).then(
      () => this.answered(at, due, counts),
      (error: unknown) => this.refused(at, error),
    );
  }

  private answered(at: number, due: number, counts: boolean): void {
    const now = performance.now();
    if (counts) {
      this.latencies.record(now - due);
      this.lastAnswerAt = now;
    }
    this.options.onProgress();
    this.windows[at].leave(this.options.region.bytes.length);
  }

  private refused(at: number, error: unknown): void {
    const code = error instanceof MillraceError ? error.code : String(error);
    this.failed.set(code, (this.failed.get(code) ?? 0) + 1);
    this.windows[at].leave(this.options.region.bytes.length);
  }
}
