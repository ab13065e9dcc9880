// Answers a LIST_OFFSETS that is its connection's next: by what the log says of itself, or by the times in its index, which
// may have to be read from the disk.

import type { Broker } from "../broker/broker.js";
import type { Partition } from "../broker/topic.js";
import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { invariant } from "../model/invariant.js";
import { EMPTY_RESPONSE_BYTES, writeErrorResponse } from "../protocol/frame.js";
import { LIST_OFFSETS_RESPONSE_BYTES, ListedTime, writeListOffsetsResponse } from "../protocol/list-offsets.js";
import type { ReplySender } from "./reply-sender.js";
import { type ReplySlots, SlotState } from "./reply-slots.js";

/** Nothing is that new, or no time was asked for. */
const NO_TIME = -1;

export interface OffsetAnswersEvents {
  /** It was looked up. */
  readonly listed: (slot: number, offset: number, timestampMs: number) => void;
  /** It could not be. */
  readonly failed: (slot: number, error: ErrorCode) => void;
}

export class OffsetAnswers {
  constructor(
    private readonly slots: ReplySlots,
    private readonly sender: ReplySender,
    private readonly broker: Broker,
    private readonly on: OffsetAnswersEvents,
  ) {}

  /** Writes the answer; the sender has room for it. False: not yet. */
  answer(slot: number): boolean {
    const { slots } = this;
    if (slots.state[slot] === SlotState.LISTED) {
      this.write(slot, slots.base[slot], slots.end[slot]);
      return true;
    }
    const partition = this.broker.catalog.partitions[slots.target[slot]];
    const { writer } = partition;
    const asked = slots.base[slot];
    if (writer === undefined) this.fail(slot, ErrorCodes.STORAGE_FAILURE);
    else if (asked === ListedTime.EARLIEST) this.write(slot, writer.logStartOffset, NO_TIME);
    else if (asked === ListedTime.LATEST) this.write(slot, writer.highWatermark, NO_TIME);
    else {
      slots.load(slot);
      void this.lookUp(slot, partition, asked);
      return false;
    }
    return true;
  }

  private async lookUp(slot: number, { log, writer }: Partition, ms: number): Promise<void> {
    invariant(log !== undefined && writer !== undefined, "times are looked up in a partition that is open");
    try {
      const found = await log.offsetAtTime(ms);
      const { highWatermark } = writer;
      // What may not be read yet is not there yet: then all that is there is older.
      if (found === undefined || found.offset >= highWatermark) this.on.listed(slot, highWatermark, NO_TIME);
      else this.on.listed(slot, found.offset, found.timestampMs);
    } catch (cause) {
      this.broker.readFailed(log, cause);
      this.on.failed(slot, ErrorCodes.STORAGE_FAILURE);
    }
  }

  private write(slot: number, offset: number, timestampMs: number): void {
    const { sender } = this;
    writeListOffsetsResponse(sender.view, sender.at, this.slots.correlation[slot], offset, timestampMs);
    sender.at += LIST_OFFSETS_RESPONSE_BYTES;
  }

  private fail(slot: number, error: ErrorCode): void {
    const { sender } = this;
    this.broker.counters.fail(error);
    writeErrorResponse(sender.view, sender.at, this.slots.correlation[slot], error);
    sender.at += EMPTY_RESPONSE_BYTES;
  }
}
