// What waits for its turn and will not get it: its time is over, nobody will know what became of it, or all is given up. When that is
// so, departures.ts says.

import type { MillraceError } from "../../model/errors.js";
import type { Batch } from "./batch.js";
import type { BatchQueue } from "./batch-queue.js";
import { deliveryTimeout, outcomeUnknown } from "./outcome.js";
import type { Settling } from "./settling.js";
import type { SoleWriter } from "./sole-writer.js";

export class GivingUp {
  constructor(
    private readonly topic: string,
    private readonly partition: number,
    private readonly queue: BatchQueue,
    private readonly settling: Settling,
    private readonly writer: SoleWriter | undefined,
  ) {}

  /** What has waited too long at `now`; `trouble`: why there is no link. */
  expired(now: number, deliveryTimeoutMs: number, trouble: MillraceError | undefined): void {
    const { topic, partition, queue } = this;
    for (let { first } = queue; first !== undefined && first.deadline <= now; first = queue.first) {
      const timeout = deliveryTimeout(`${topic}-${partition}`, deliveryTimeoutMs, first.error ?? trouble);
      if (first.isUncertain) this.doubts(first.error ?? timeout);
      else this.settling.reject(queue.shift() as Batch, timeout);
    }
  }

  /** What is in doubt, of which nobody will know: where those behind the first of them should stand is not known either. */
  doubts(cause: MillraceError): void {
    this.writer?.forget();
    for (const batch of this.queue.takeUncertain()) {
      this.settling.reject(batch, outcomeUnknown(this.topic, this.partition, cause));
    }
  }

  all(error: MillraceError): void {
    if ([...this.queue].some(({ isUncertain }) => isUncertain)) this.doubts(error);
    for (const batch of this.queue.clear()) this.settling.reject(batch, error);
  }
}
