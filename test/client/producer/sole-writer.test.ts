// The offsets that a sole writer names, whatever order the answers come in: a log in the process may answer the second before the first.

import { expect, it } from "vitest";
import { Batch } from "../../../src/client/producer/batch.js";
import { SoleWriter } from "../../../src/client/producer/sole-writer.js";
import { RegionBuilder } from "../../../src/client/record-region.js";
import { partitionId } from "../../../src/model/ids.js";

/** A batch of so many records. */
function batchOf(records: number): Batch {
  const batch = new Batch("orders", partitionId(0));
  const region = new RegionBuilder();
  for (let i = 0; i < records; i++) region.appendText("a", 1);
  batch.close(region, 0);
  return batch;
}

it("names the offset behind everything that was accepted, also when the second was answered first", () => {
  const writer = new SoleWriter("orders", 0, true);
  expect(writer.claim(batchOf(1), true)).toBe("ask");
  writer.begin({ logEndOffset: 10, durableOffset: 10 });
  const batches = [batchOf(2), batchOf(3)];
  for (const batch of batches) expect(writer.claim(batch, false)).toBe("go");
  expect(batches.map(({ expected }) => expected)).toEqual([10, 12]);
  writer.accepted(12, 3);
  writer.accepted(10, 2);
  writer.landed();
  const next = batchOf(1);
  expect(writer.claim(next, true)).toBe("go");
  expect(next.expected).toBe(15);
});
