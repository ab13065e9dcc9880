// What the purgatory is told of a partition: growth is one thing, and everything that may make a wait pointless another.

import { expect, it } from "vitest";
import { PartitionNews } from "../../../src/log/waiting/partition-news.js";

function listening() {
  const log = { activeBaseOffset: 0, logStartOffset: 0 };
  const writer = { log, poisoned: false };
  const told: string[] = [];
  const purgatory = {
    waiting: 1,
    published: (partition: number) => told.push(`published ${partition}`),
    recheck: (partition: number) => told.push(`recheck ${partition}`),
  };
  const news = new PartitionNews([{ writer: undefined }, { writer: writer as never }], purgatory);
  /** What is told after `change`. */
  const after = (change: () => void) => {
    told.length = 0;
    change();
    news.changed(1);
    return told.join();
  };
  after(() => undefined);
  return { log, writer, purgatory, news, told, after };
}

it("tells of growth when nothing else has changed", () => {
  const { after } = listening();
  expect(after(() => undefined)).toBe("published 1");
});

it("has everybody looked at again after a roll, after retention and when the log is poisoned, once each", () => {
  const { log, writer, after } = listening();
  const changes = [
    () => Object.assign(log, { activeBaseOffset: 7 }),
    () => Object.assign(log, { logStartOffset: 7 }),
    () => Object.assign(writer, { poisoned: true }),
  ];
  for (const change of changes) {
    expect(after(change)).toBe("recheck 1");
    expect(after(() => undefined)).toBe("published 1");
  }
});

it("misses nothing that happened while nobody waited", () => {
  const { log, purgatory, after } = listening();
  purgatory.waiting = 0;
  expect(after(() => Object.assign(log, { activeBaseOffset: 7 }))).toBe("");
  purgatory.waiting = 1;
  expect(after(() => undefined)).toBe("recheck 1");
});

it("has nothing to tell of a partition that is not open", () => {
  const { news, told, after } = listening();
  after(() => undefined);
  told.length = 0;
  news.changed(0);
  expect(told).toEqual([]);
});
