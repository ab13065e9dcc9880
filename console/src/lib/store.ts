// A value that changes, and those who want to know. All the state that more than one part of the page needs is in two of these.

import { useEffect, useState } from "preact/hooks";

export class Store<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  get(): T {
    return this.value;
  }

  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of this.listeners) listener();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(() => store.get());
  useEffect(() => {
    // It may have changed since the first drawing.
    setValue(() => store.get());
    return store.subscribe(() => setValue(() => store.get()));
  }, [store]);
  return value;
}
