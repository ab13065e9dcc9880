// What the calls of a producer take, and a call that its caller may give up.

import { AckPolicy } from "../../model/ack-policy.js";
import { badArgument, badOptions, badSignal } from "../../model/arguments.js";
import { MillraceError } from "../../model/errors.js";
import { OFFSET_MAX } from "../../model/limits.js";
import { onAbort } from "../abort.js";
import { badText, INT32_MAX, isWholeText, outOfRange } from "../checks.js";
import type { Abortable } from "./callers.js";

const SEND = new Set(["key", "partition", "signal"]);
const APPEND = new Set(["partition", "expectedOffset", "signal"]);

export function badSend(options: unknown): MillraceError | undefined {
  const bad = badOptions(options, SEND, "a send");
  if (bad !== undefined) return bad;
  const { key, partition, signal } = options as { key?: unknown; partition?: unknown; signal?: unknown };
  const wrong = badKey(key);
  if (wrong !== undefined) return wrong;
  if (partition === undefined) return badSignal(signal);
  if (key !== undefined) return new MillraceError("BAD_ARGUMENT", "a key chooses the partition: give key or partition");
  return outOfRange("partition", partition, 0, INT32_MAX) ?? badSignal(signal);
}

export function badKey(key: unknown): MillraceError | undefined {
  if (typeof key === "string") return isWholeText(key) ? undefined : badText("key", key);
  return key === undefined || key instanceof Uint8Array ? undefined : badArgument("key", key, "text or a Uint8Array");
}

export function badAppend(options: unknown, ack: AckPolicy): MillraceError | undefined {
  const bad = badOptions(options, APPEND, "an append");
  if (bad !== undefined) return bad;
  if (ack === AckPolicy.NONE) {
    return new MillraceError(
      "BAD_ARGUMENT",
      "append tells whether the offset was the expected one: it needs another ack than none",
    );
  }
  const { partition, expectedOffset, signal } = options as Record<string, unknown>;
  return (
    outOfRange("partition", partition, 0, INT32_MAX) ??
    outOfRange("expectedOffset", expectedOffset, 0, OFFSET_MAX) ??
    badSignal(signal)
  );
}

/** How many bytes a record has; 0 for what is none, and for text that has no UTF-8. */
export function lengthOf(record: unknown): number {
  if (typeof record === "string") {
    const bytes = Buffer.byteLength(record);
    return isWholeText(record, bytes) ? bytes : 0;
  }
  return record instanceof Uint8Array ? record.length : 0;
}

export function badRecord(record: unknown): MillraceError {
  if (record === "" || record instanceof Uint8Array) {
    return new MillraceError("BAD_ARGUMENT", "the record is empty: a record has at least one byte");
  }
  if (typeof record === "string") return badText("record", record);
  return badArgument("record", record, "text or a Uint8Array");
}

/** A call that rejects as soon as the signal is aborted. Its record is left out if it has not left by then. */
export function abortableBy<T>(signal: AbortSignal, call: (abortable: Abortable) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abortable: Abortable = { aborted: false };
    const unheard = onAbort(signal, () => {
      abortable.aborted = true;
      reject(signal.reason);
    });
    call(abortable).finally(unheard).then(resolve, reject);
  });
}
