// Closed batches of one partition that go out in one request. Only one request of a partition is ever on its way, so what
// comes meanwhile goes with the next one: on a slow disk a request carries many batches, on a fast one a single one.

import { type RecordRegion, RegionBuilder } from "../../client/record-region.js";

/** Input lines from `first` to `last`. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
}

/** A batch that was closed: lines that its records came from, and its place in the parcel. */
export interface Batch extends LineRange {
  readonly records: number;
  readonly bytes: number;
}

export class Parcel {
  readonly batches: Batch[] = [];
  private readonly builder: RegionBuilder;

  constructor(spare?: RegionBuilder) {
    this.builder = spare ?? new RegionBuilder();
  }

  get region(): RecordRegion {
    return this.builder;
  }

  get length(): number {
    return this.builder.length;
  }

  add(region: RecordRegion, { first, last }: LineRange): void {
    this.batches.push({ first, last, records: region.records, bytes: region.bytes.length });
    this.builder.appendRegion(region);
  }

  /** A parcel for each batch. */
  split(): Parcel[] {
    const { bytes } = this.region;
    let from = 0;
    return this.batches.map((batch) => {
      const parcel = new Parcel();
      parcel.add({ records: batch.records, bytes: bytes.subarray(from, from + batch.bytes) }, batch);
      from += batch.bytes;
      return parcel;
    });
  }

  /** Its memory, emptied, for the next one. */
  reclaim(): RegionBuilder {
    this.builder.clear();
    return this.builder;
  }
}
