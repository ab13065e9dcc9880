// Time is passed in, so that a test moves it by a call.

export interface Clock {
  /** Wall-clock time in milliseconds since 1970. May go back. */
  now(): number;
}

export interface Timers {
  /**
   * Calls `action` once after `ms`, without keeping the process alive. Returns what cancels it. After 24 days at the latest:
   * whoever waits longer looks whether it is time and waits again.
   */
  after(ms: number, action: () => void): () => void;
}

export const systemClock: Clock = { now: () => Date.now() };

/** A setting may be months; a timer that is told more than this comes at once, and again, and again. */
export const TIMER_MAX_MS = 2 ** 31 - 1;

export const systemTimers: Timers = {
  after(ms, action) {
    const timer = setTimeout(action, Math.min(ms, TIMER_MAX_MS));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Keeps the process alive until what it returns is called: for work that consists of waiting, with nothing open but timers
 * that do not.
 */
export function holdProcess(): () => void {
  const timer = setTimeout(() => undefined, TIMER_MAX_MS);
  return () => clearTimeout(timer);
}
