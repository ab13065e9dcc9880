// What the callers of one partition's batches are told in the end, and that what a batch took is given back then.

import { type Offset, offset, type PartitionId } from "../../model/ids.js";
import { OffsetMismatchError } from "../errors.js";
import type { Batch } from "./batch.js";
import type { SpareRegions } from "./spare-regions.js";

export interface SettlingOwner {
  /** Records were settled, or given up. */
  left(cost: number, callers: number): void;
  /** Where the log ends now; undefined: it cannot be asked. It does not reject. */
  end(): Promise<Offset | undefined>;
}

export class Settling {
  /** Were refused where they were to stand; where the log ends instead is being asked. */
  readonly misplaced = new Set<Batch>();

  constructor(
    private readonly topic: string,
    private readonly partition: PartitionId,
    private readonly spares: SpareRegions,
    private readonly owner: SettlingOwner,
  ) {}

  /** Its records stand from `base` on; undefined where nobody acknowledges. */
  resolve(batch: Batch, base: number | undefined): void {
    this.owner.left(batch.cost, batch.callers);
    batch.resolve(base);
    this.spares.giveBack(batch.reclaim());
  }

  reject(batch: Batch, error: unknown): void {
    this.owner.left(batch.cost, batch.callers);
    batch.reject(error);
    this.spares.giveBack(batch.reclaim());
  }

  /** Whoever demanded a place learns which one it would have been. */
  async rejectMisplaced(batch: Batch, demanded: number): Promise<void> {
    this.misplaced.add(batch);
    const end = await this.owner.end();
    this.misplaced.delete(batch);
    this.reject(batch, new OffsetMismatchError(this.topic, this.partition, offset(demanded), end));
  }

  /** Takes out of a batch what was given up. Whether anybody is left. */
  dropAborted(batch: Batch): boolean {
    const { cost, callers } = batch;
    batch.dropAborted();
    if (batch.callers < callers) this.owner.left(cost - batch.cost, callers - batch.callers);
    if (batch.callers > 0) return true;
    this.reject(batch, undefined);
    return false;
  }
}
