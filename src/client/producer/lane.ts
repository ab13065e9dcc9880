// One partition of a topic that is sent to: records are gathered into batches, and those leave in order (departures.ts). Links and
// requests are courier.ts's, memory is the producer's.

import type { MillraceError } from "../../model/errors.js";
import type { Offset, PartitionId } from "../../model/ids.js";
import type { Backoff } from "../backoff.js";
import type { RecordRegion } from "../record-region.js";
import type { Batch } from "./batch.js";
import type { Abortable } from "./callers.js";
import { Departures, type OrderSettings } from "./departures.js";
import { Gathering, type GatheringSettings } from "./gathering.js";
import type { Payload, SentRecord } from "./producer-options.js";
import type { SoleWriter } from "./sole-writer.js";

export interface LaneSettings extends GatheringSettings, OrderSettings {}

export interface LaneOwner {
  /** A batch was closed. */
  closed(lane: Lane): void;
  /** There may be something to send. */
  wake(lane: Lane): void;
  /** The log's end is wanted; {@link Lane.found} takes it. */
  ask(lane: Lane): void;
  /** Whether the log has the first `count` records of the region from `offset` on, as far as it can be read. Rejects when the link fails. */
  compare(lane: Lane, offset: number, region: RecordRegion, count: number): Promise<boolean>;
  /** Where the lane's log ends now; undefined: it cannot be asked. It does not reject. */
  endOf(lane: Lane): Promise<Offset | undefined>;
  /** Records were settled, or given up. */
  left(cost: number, callers: number): void;
}

export class Lane extends Departures {
  private readonly gathering: Gathering;

  constructor(
    topic: string,
    partition: PartitionId,
    private readonly laneSettings: LaneSettings,
    backoff: Backoff,
    private readonly owner: LaneOwner,
    /** Only where this producer is the only writer. */
    writer: SoleWriter | undefined,
  ) {
    super(topic, partition, laneSettings, backoff, writer);
    this.gathering = new Gathering(topic, partition, laneSettings, (batch) => this.gathered(batch));
  }

  /** Closes the batch when a record of so many bytes does not fit beside what is there. Comes before {@link append}. */
  makeRoom(payloadBytes: number): void {
    this.gathering.makeRoom(payloadBytes);
  }

  /** `deadline`: until when it may wait, of one that has waited before. */
  append(record: Payload, bytes: number, abortable: Abortable | undefined, deadline?: number): Promise<SentRecord> {
    return this.gathering.append(record, bytes, abortable, deadline);
  }

  /** A batch that a call brought. What was gathered before goes before it. */
  push(batch: Batch): void {
    this.gathering.close();
    this.enqueue(batch);
  }

  /** Closes what is being gathered. */
  close(): void {
    this.gathering.close();
  }

  override poison(error: MillraceError, first?: Batch): void {
    super.poison(error, first);
    this.gathering.close();
  }

  private gathered(batch: Batch): void {
    const { last } = this.queue;
    const { accumulator, batchRecords, spares } = this.laneSettings;
    this.owner.closed(this);
    if (last?.mayTake(batch, accumulator.batchBytes, batchRecords)) {
      last.take(batch);
      spares.giveBack(batch.reclaim());
    } else this.enqueue(batch);
  }

  protected wake(): void {
    this.owner.wake(this);
  }

  protected askEnd(): void {
    this.owner.ask(this);
  }

  protected compare(offset: number, region: RecordRegion, count: number): Promise<boolean> {
    return this.owner.compare(this, offset, region, count);
  }

  protected endOfLog(): Promise<Offset | undefined> {
    return this.owner.endOf(this);
  }

  protected left(cost: number, callers: number): void {
    this.owner.left(cost, callers);
  }
}
