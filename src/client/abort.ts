// What an abort ends. What was waited for goes on: whoever started it sees to its end.

/** What is called when a signal is aborted, by signal. */
const actionsOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal is aborted, unless what this returns was called before; for a signal that is not aborted yet. However many
 * wait for one signal, it has one listener: of eleven Node warns on stderr that they leak, and one signal may end thousands of sends.
 */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  const actions = actionsOf.get(signal) ?? listenedTo(signal);
  // The same function may wait twice.
  const call = (): void => action();
  actions.add(call);
  return () => {
    if (actions.delete(call) && actions.size === 0) leave(signal);
  };
}

function listenedTo(signal: AbortSignal): Set<() => void> {
  const actions = new Set<() => void>();
  actionsOf.set(signal, actions);
  signal.addEventListener("abort", aborted, { once: true });
  return actions;
}

function leave(signal: AbortSignal): void {
  signal.removeEventListener("abort", aborted);
  actionsOf.delete(signal);
}

function aborted(this: AbortSignal): void {
  const actions = actionsOf.get(this) ?? [];
  leave(this);
  // Those that are taken back by one before them are not called.
  for (const action of actions) action();
}

/** As `work`, or rejects with the signal's reason as soon as it is aborted. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  if (signal.aborted) {
    work.catch(() => undefined);
    throw signal.reason;
  }
  let stop = (): void => undefined;
  const ended = new Promise<never>((_, reject) => {
    stop = onAbort(signal, () => reject(signal.reason));
  });
  try {
    return await Promise.race([work, ended]);
  } finally {
    stop();
  }
}
