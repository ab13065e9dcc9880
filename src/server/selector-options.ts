// What the selector is told: the memory that it shares with the server, and the bounds of what is in it. It must not know what
// is done in a turn.

import { TURN_BYTES_IN, TURN_BYTES_OUT } from "../model/limits.js";
import type { SelectorOptions } from "../native/binding.js";
import type { ServerOptions } from "./options.js";

export type SharedMemory = Pick<
  SelectorOptions,
  "arena" | "replies" | "frames" | "opened" | "closed" | "flushes" | "counters"
>;

export const selectorOptions = (options: ServerOptions, shared: SharedMemory): SelectorOptions => ({
  ...shared,
  maxFrameBytes: options.maxFrameBytes,
  connectionsMax: options.connectionsMax,
  requestsMax: options.requestsMax,
  turnBytesIn: TURN_BYTES_IN,
  turnBytesOut: TURN_BYTES_OUT,
  queuedBytesMax: options.queuedBytesMax,
  connectionQueuedBytesMax: options.connectionQueuedBytesMax,
  frameTimeoutMs: options.frameTimeoutMs,
  writeStallMs: options.writeStallMs,
  idleMs: options.idleMs ?? 0,
  zeroCopy: options.zeroCopy,
});
