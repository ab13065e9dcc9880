// What a stop waits for before it ends the connections: that everything taken is answered, and that producers have heard. It
// must not know how anything is answered or ended.

import { setTimeout } from "node:timers/promises";
import { PUT_OFF_MS, STOP_GRACE_MS, STOP_LOOK_MS } from "../model/limits.js";
import { stampOf } from "./latency-runs.js";
import type { Session } from "./session.js";

/** Requests that a server has taken and not answered. */
export interface ToAnswer {
  /** Answers what can be answered now. */
  answer(): void;
  /** There are some under way, or some that the next `answer` answers. */
  isDue(): boolean;
  /** There are some whose peers take nothing. */
  isPutOff(): boolean;
}

/** Those that were put off because their peers take nothing are waited for until the deadline. */
export async function allAnswered(requests: ToAnswer, deadline: number): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    requests.answer();
    if (requests.isDue()) continue;
    if (!requests.isPutOff() || performance.now() >= deadline) return;
    await setTimeout(PUT_OFF_MS);
  }
}

/**
 * What a producer sends just before it sees the end of its connection would be read by nobody, and the producer could not know.
 * So those that produced a moment ago are kept until they have sent something, are refused it and leave, or send nothing more.
 * `now`: milliseconds on the clock of the sessions' stamps.
 */
export async function producersLeft(
  sessions: readonly (Session | undefined)[],
  now: () => number,
  graceMs: number,
): Promise<void> {
  const until = performance.now() + graceMs;
  while (performance.now() < until) {
    const since = stampOf(now() - STOP_GRACE_MS);
    if (!sessions.some((session) => session?.mayProduce(since))) return;
    await setTimeout(STOP_LOOK_MS);
  }
}
