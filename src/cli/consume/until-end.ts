// Each partition to where it ended at the start, one after the other.

import type { Consumer } from "../../client/consumer.js";
import type { RecordBatch } from "../../client/record-batch.js";
import type { Printer } from "./printer.js";

/** `isResumed`: the positions are from another time, and whether they can be is asked also where nothing is left to read. */
export async function printUntilEnd(
  consumers: readonly Consumer[],
  printer: Printer,
  isResumed: boolean,
): Promise<void> {
  for (const consumer of consumers) {
    const end = consumer.highWatermark;
    if (consumer.position >= end && !isResumed) continue;
    let next = pollAhead(consumer);
    while (!printer.isDone) {
      const batch = await next;
      const more = consumer.position < end;
      // The next answer is on its way while this one is printed.
      if (more) next = pollAhead(consumer);
      await printer.print(batch, end);
      if (!more) break;
    }
  }
}

/** A poll that may be left behind: when printing fails, nobody waits for it any more. */
function pollAhead(consumer: Consumer): Promise<RecordBatch> {
  const batch = consumer.poll();
  batch.catch(() => undefined);
  return batch;
}
