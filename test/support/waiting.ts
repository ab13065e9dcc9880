// For tests of waiting: time that an answer took, and conditions that come true.

/** Far more than anything takes that does not wait, also on a machine with other things to do. */
export const SOON_MS = 5_000;
/** A wait that no test waits for. */
export const LONG_MS = 60_000;

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What a promise resolves to, and how long that took in milliseconds. */
export async function timed<T>(promise: Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const before = performance.now();
  const value = await promise;
  return { value, ms: performance.now() - before };
}

/** Resolves when the condition holds; rejects when it still does not after a long while. */
export async function until(what: string, holds: () => boolean, ms = SOON_MS): Promise<void> {
  const deadline = performance.now() + ms;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`);
    await sleep(1);
  }
}
