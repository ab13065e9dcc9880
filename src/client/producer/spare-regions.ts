// Memory of batches that were answered, for those to come: of all partitions, as there may be thousands and most are quiet.

import { PRODUCER_SPARES_MAX } from "../../model/limits.js";
import { RegionBuilder } from "../record-region.js";

export class SpareRegions {
  private readonly spares: RegionBuilder[] = [];

  take(): RegionBuilder {
    return this.spares.pop() ?? new RegionBuilder();
  }

  giveBack(region: RegionBuilder | undefined): void {
    if (region !== undefined && this.spares.length < PRODUCER_SPARES_MAX) this.spares.push(region);
  }
}
