// How far ahead of a mapped segment's writer pages are populated. A fresh page costs the event loop a fault, so a partition
// that is filled fast has a helper thread fault them in before. But a populated page is dirty, and whoever forces the file
// pays for it: so the window is 0 when idle and for who forces as he writes, and grows with the rate of unforced writes.
// Pure; it knows neither files nor clocks.

import { POPULATE_AHEAD_PARTITION_MAX } from "../model/limits.js";

/** The window is what is written in this time: a worker that was put aside by the system for a while must not be overtaken. */
const LEAD_MS = 40;
/** Windows are whole steps, so that the helper is not asked for every page. Below one step the faults are not worth a thread's wake-up. */
const STEP_BYTES = 1024 * 1024;
/** A single burst must not make 64 MiB dirty: a window at most quadruples at a time. It may shrink at once. */
const GROWTH = 4;

export interface WriteRate {
  /** Time since the window was last decided on, above 0. */
  readonly elapsedMs: number;
  /** Bytes written in that time. */
  readonly writtenBytes: number;
  /** Bytes that are written and not forced at its end. */
  readonly unforcedBytes: number;
}

/** The window that a partition should have next, in bytes. */
export function populateWindow(previous: number, rate: WriteRate): number {
  const ahead = (Math.min(rate.writtenBytes, rate.unforcedBytes) / rate.elapsedMs) * LEAD_MS;
  const steps = Math.floor(ahead / STEP_BYTES) * STEP_BYTES;
  return Math.min(steps, Math.max(previous, STEP_BYTES) * GROWTH, POPULATE_AHEAD_PARTITION_MAX);
}

/** `populate.ahead.max`: what the windows of all partitions may be together. */
export class PopulateBudget {
  #granted = 0;

  constructor(readonly maxBytes: number) {}

  get granted(): number {
    return this.#granted;
  }

  /** Changes a window from `held` to `wanted` bytes, or to as much of it as is left. Returns what it is now. */
  change(held: number, wanted: number): number {
    const others = this.#granted - held;
    const granted = Math.max(0, Math.min(wanted, this.maxBytes - others));
    this.#granted = others + granted;
    return granted;
  }
}
