// A verb that is told to stop by a signal: it ends in order, shortly after the first one and at once after the second. Which
// signals there are, and the exit code that a shell expects.

import { constants } from "node:os";

export const STOP_SIGNALS = ["SIGINT", "SIGTERM"] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

/** Ends a verb that was stopped. Without lines it ends quietly. */
export class StoppedBySignal extends Error {
  constructor(
    readonly signal: StopSignal,
    /** What whoever stopped it should know. */
    readonly lines: readonly string[] = [],
  ) {
    super(`stopped by ${signal}`);
  }

  get exitCode(): number {
    return exitCodeOf(this.signal);
  }
}

/** What a shell says of a program that a signal ended. */
const exitCodeOf = (signal: StopSignal): number => 128 + constants.signals[signal];

/** The signal that an exit code stands for. */
export const stopSignalOf = (code: number): StopSignal | undefined =>
  STOP_SIGNALS.find((signal) => exitCodeOf(signal) === code);

/** Calls the listener for each stop signal until the function that it returns is called. */
export type OnStopSignal = (listener: (signal: StopSignal) => void) => () => void;

/** The process's own signals. */
export const onProcessSignal: OnStopSignal = (listener) => {
  const heard = (signal: NodeJS.Signals): void => listener(signal as StopSignal);
  for (const signal of STOP_SIGNALS) process.on(signal, heard);
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, heard);
  };
};

/** A place to wait at, for one at a time, that can be told not to wait any longer. */
export class Waiting {
  private wake: (() => void) | undefined;

  /** What is waited for; undefined as soon as {@link interrupt} is called. A race with a promise of that would keep every loser. */
  for<T>(promise: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.wake = () => resolve(undefined);
      promise.then(resolve, reject);
    });
  }

  interrupt(): void {
    this.wake?.();
  }
}
