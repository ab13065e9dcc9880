// The heap of waiters against a list: whoever wants the least comes first, and anybody may leave.

import fc from "fast-check";
import { expect, it } from "vitest";
import { type HeapElement, WaitHeap } from "../../../src/log/waiting/wait-heap.js";
import { printedSeed } from "../../support/seed.js";

it("in random lives has the least in front, knows everybody's place, and lets anybody go", () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ add: fc.constant(true), by: fc.integer({ min: 0, max: 30 }) }) },
    { weight: 2, arbitrary: fc.record({ add: fc.constant(false), by: fc.nat() }) },
    { weight: 2, arbitrary: fc.constant(undefined) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const heap = new WaitHeap<HeapElement>();
      const list: HeapElement[] = [];
      for (const each of steps) {
        if (each?.add === true) {
          const element = { wanted: each.by, place: -1 };
          heap.add(element);
          list.push(element);
        } else {
          const element = each === undefined ? heap.first() : list[each.by % Math.max(1, list.length)];
          if (element === undefined) continue;
          heap.remove(element);
          list.splice(list.indexOf(element), 1);
          expect(element.place).toBe(-1);
        }
        expect(heap.size).toBe(list.length);
        expect(heap.first()?.wanted).toBe(
          list.length === 0 ? undefined : Math.min(...list.map(({ wanted }) => wanted)),
        );
        expect(new Set(list.map(({ place }) => place))).toEqual(new Set(list.keys()));
      }
      const order: number[] = [];
      for (let first = heap.first(); first !== undefined; first = heap.first()) {
        order.push(first.wanted);
        heap.remove(first);
      }
      expect(order).toEqual(list.map(({ wanted }) => wanted).sort((a, b) => a - b));
    }),
    { seed: printedSeed("wait heap"), numRuns: 500 },
  );
});
