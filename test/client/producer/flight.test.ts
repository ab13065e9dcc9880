// Batches that are refused or accepted in another order than they left in, as a log in the process may do it.

import { describe, expect, it } from "vitest";
import { Batch } from "../../../src/client/producer/batch.js";
import { Flight } from "../../../src/client/producer/flight.js";
import { partitionId } from "../../../src/model/ids.js";

/** A flight of so many batches. */
function flying(count: number) {
  const flight = new Flight(count);
  const batches = Array.from({ length: count }, () => new Batch("orders", partitionId(0)));
  for (const batch of batches) flight.take(batch);
  return { flight, batches };
}

describe("batches in flight", () => {
  it.each([[[0, 1, 2]], [[2, 0, 1]], [[1, 2, 0]], [[2, 1, 0]]])(
    "go again in the order in which they left, refused in the order %j",
    (order) => {
      const { flight, batches } = flying(3);
      for (const at of order) flight.comesBack(batches[at]);
      expect(flight.landed()).toEqual(batches);
      for (const batch of [...batches].reverse()) flight.take(batch);
      for (const batch of batches) flight.comesBack(batch);
      expect(flight.landed()).toEqual([...batches].reverse());
    },
  );

  it("are overtaken by what left after them, and not by what left before", () => {
    const { flight, batches } = flying(4);
    const [first, second, third, fourth] = batches;
    flight.comesBack(fourth);
    flight.comesBack(first);
    flight.accepted(second);
    expect(flight.overtakenBy(second)).toEqual([first]);
    flight.comesBack(third);
    expect(flight.landed()).toEqual([third, fourth]);
  });
});
