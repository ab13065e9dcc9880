// What is open, and waiting for what only the collector or another thread brings about.

import { readdirSync } from "node:fs";

const POLL_MS = 20;
const PATIENCE_MS = 20_000;

export function descriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

export const threads = (): number => readdirSync("/proc/self/task").length;

/** What `measure` gives when `wanted` holds, or after it did not for a long time. The collector is called meanwhile. */
export async function eventually(
  measure: () => number,
  wanted: (now: number) => boolean,
  patienceMs = PATIENCE_MS,
): Promise<number> {
  const until = performance.now() + patienceMs;
  for (;;) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const now = measure();
    if (wanted(now) || performance.now() > until) return now;
  }
}

/** Waits for a promise no longer than `ms`; then calls `late`. */
export async function settled(promise: Promise<unknown>, ms: number, late: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      late();
      resolve();
    }, ms);
  });
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}
