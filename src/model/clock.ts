// Time is passed in, so that a test moves it by a call.

export interface Clock {
  /** Wall-clock time in milliseconds since 1970. May go back. */
  now(): number;
}

export interface Timers {
  /** Calls `action` once after `ms`, without keeping the process alive. Returns what cancels it. */
  after(ms: number, action: () => void): () => void;
}

export const systemClock: Clock = { now: () => Date.now() };

export const systemTimers: Timers = {
  after(ms, action) {
    const timer = setTimeout(action, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
