// Partitions for tests of waiting: lists of record sizes with segments, a durable part and everything that can happen to
// them. What holds is computed the long way round, from the records and from nothing that the purgatory keeps.

import type { Isolation } from "../../../src/log/waiting/isolation.js";
import type { Partitions, PartView } from "../../../src/log/waiting/purgatory.js";
import { type WaitingFetch, WaitPart } from "../../../src/log/waiting/waiting-fetch.js";

/** The least that a record takes here, as with a header of eight bytes. */
export const RECORD_BYTES_MIN = 9;

export class FakePartition {
  /** Where each record begins, and where the last one ends. The count of bytes begins anywhere. */
  readonly positions: number[];
  start = 0;
  durable = 0;
  activeBase = 0;
  poisoned = false;

  constructor(
    readonly visibility: "written" | "durable",
    firstPosition = 1_000_000,
  ) {
    this.positions = [firstPosition];
  }

  get end(): number {
    return this.positions.length - 1;
  }

  ceiling(isolation: Isolation): number {
    const durable = isolation === 0 && (this.visibility === "durable" || this.poisoned);
    return durable ? this.durable : this.end;
  }

  at(offset: number): number {
    return this.positions[offset] as number;
  }

  append(sizes: readonly number[]): void {
    for (const size of sizes) this.positions.push((this.positions.at(-1) as number) + size);
  }

  roll(): void {
    this.activeBase = this.end;
  }

  /** Removes all segments but the active one. */
  retain(): void {
    this.start = this.activeBase;
  }
}

export class FakePartitions implements Partitions {
  /** Every look at a part, in order. */
  readonly looks: WaitPart[] = [];

  constructor(readonly all: readonly FakePartition[]) {}

  view(part: WaitPart, view: PartView): void {
    this.looks.push(part);
    view.final = this.isFinal(part);
    view.end = this.end(part.partition, part.isolation);
    view.records = Math.max(0, this.of(part).ceiling(part.isolation) - part.offset);
  }

  end(partition: number, isolation: Isolation): number {
    const each = this.all[partition] as FakePartition;
    return each.at(each.ceiling(isolation));
  }

  recordBytesMin(): number {
    return RECORD_BYTES_MIN;
  }

  /** Adds a part and says where its offset lies, as whoever takes a request in does. */
  add(fetch: WaitingFetch, partition: number, isolation: Isolation, offset: number, maxBytes: number): WaitPart {
    const part = new WaitPart(fetch, partition, isolation, -1, offset, maxBytes);
    fetch.parts.push(part);
    if (!this.isError(part)) part.start = this.of(part).at(offset);
    return part;
  }

  of(part: WaitPart): FakePartition {
    return this.all[part.partition] as FakePartition;
  }

  isError(part: WaitPart): boolean {
    const { start, end, poisoned } = this.of(part);
    return poisoned || part.offset < start || part.offset > end;
  }

  isFinal(part: WaitPart): boolean {
    if (this.isError(part)) return true;
    const { activeBase } = this.of(part);
    return part.offset < activeBase && this.readable(part).records > 0;
  }

  readable(part: WaitPart): { records: number; bytes: number } {
    const partition = this.of(part);
    const ceiling = partition.ceiling(part.isolation);
    if (ceiling <= part.offset) return { records: 0, bytes: 0 };
    return { records: ceiling - part.offset, bytes: partition.at(ceiling) - partition.at(part.offset) };
  }

  /** Whether a fetch is to be answered now, whatever its deadline says. */
  holds(fetch: WaitingFetch): boolean {
    const { parts, minBytes, minRecords, maxBytes } = fetch;
    if (parts.some((part) => this.isFinal(part))) return true;
    const all = parts.map((part) => ({ part, ...this.readable(part) }));
    const bytes = all.reduce((sum, each) => sum + each.bytes, 0);
    const records = all.reduce((sum, each) => sum + each.records, 0);
    if (all.some((each) => each.bytes >= each.part.maxBytes) || bytes >= maxBytes) return true;
    return bytes >= Math.max(1, minBytes) && records >= Math.max(1, minRecords);
  }
}
