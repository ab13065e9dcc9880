// Callbacks that are told what happens, and decide nothing.

/**
 * Tells an observer. What it throws is its program's mistake and must end nothing here: it becomes an uncaught exception of the process, as
 * what a listener of an AbortSignal throws.
 */
export function tell<Args extends readonly unknown[]>(
  observer: ((...args: Args) => void) | undefined,
  ...args: Args
): void {
  try {
    observer?.(...args);
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}
