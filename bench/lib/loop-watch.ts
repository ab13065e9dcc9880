// How long an event loop did not come round, and why: because it ran, because others had the processors, or because something
// it called was blocked. Only the first and the last are the program's own doing, so figures of a busy machine mean something, too.
// Linux tells it for each thread (/proc/…/schedstat). It must not know what the loop belongs to.

import { openSync, readSync } from "node:fs";
import type { BrokerStatistics } from "../../src/ops/statistics.js";
import { cpuOfMainThread } from "./cpu.js";

/** A pass of the loop that is shorter is not told from the next one. */
const TICK_MS = 1;

export interface LoopLook {
  /** The longest time between two passes of the loop, less the tick itself. */
  readonly longestMs: number;
  /** The longest that the thread ran meanwhile. */
  readonly longestRunMs: number;
  /** The longest that it slept meanwhile although its tick was due: a call that blocked. */
  readonly longestBlockedMs: number;
  /** The longest that it was ready to run and others ran. */
  readonly longestQueuedMs: number;
}

/** What a watched broker answers. */
export interface WatchedLook {
  readonly statistics: BrokerStatistics;
  /** Since the last look; undefined when the loop is not watched. */
  readonly loop: LoopLook | undefined;
  readonly loopCpuSeconds: number;
  readonly rss: number;
}

/** Milliseconds that a thread has run, and has waited for a processor. */
class ThreadTimes {
  ran = 0;
  queued = 0;
  readonly #fd = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  readonly #bytes = Buffer.alloc(64);

  read(): void {
    const text = this.#bytes.toString("latin1", 0, readSync(this.#fd, this.#bytes, 0, this.#bytes.length, 0));
    const blank = text.indexOf(" ");
    this.ran = Number(text.slice(0, blank)) / 1e6;
    this.queued = Number.parseInt(text.slice(blank + 1), 10) / 1e6;
  }
}

export class LoopWatch {
  #now: ThreadTimes;
  #before: ThreadTimes;
  #at: number;
  #longest = { longestMs: 0, longestRunMs: 0, longestBlockedMs: 0, longestQueuedMs: 0 };
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#now = new ThreadTimes();
    this.#before = new ThreadTimes();
    this.#before.read();
    this.#at = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** What was longest since the last look. */
  look(): LoopLook {
    this.#tick();
    const look = this.#longest;
    this.#longest = { longestMs: 0, longestRunMs: 0, longestBlockedMs: 0, longestQueuedMs: 0 };
    return look;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const [before, now] = [this.#before, this.#now];
    const at = performance.now();
    now.read();
    const passed = Math.max(0, at - this.#at - TICK_MS);
    const ran = now.ran - before.ran;
    const queued = now.queued - before.queued;
    const longest = this.#longest;
    longest.longestMs = Math.max(longest.longestMs, passed);
    longest.longestRunMs = Math.max(longest.longestRunMs, ran);
    longest.longestQueuedMs = Math.max(longest.longestQueuedMs, queued);
    longest.longestBlockedMs = Math.max(longest.longestBlockedMs, passed - ran - queued);
    this.#at = at;
    this.#now = before;
    this.#before = now;
  }
}

/** Seconds of processor time of this process's main thread. */
export async function loopCpuSeconds(): Promise<number> {
  const { user, system } = await cpuOfMainThread(process.pid);
  return user + system;
}
