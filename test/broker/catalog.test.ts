// Topics by the bytes of their names.

import { describe, expect, it } from "vitest";
import { Catalog } from "../../src/broker/catalog.js";
import type { TopicOptions } from "../../src/broker/options.js";
import { ascii, embed } from "../support/bytes.js";

const options = (name: string, partitions = 1): TopicOptions => ({
  name,
  partitions,
  segmentMode: "MAPPED",
  segmentBytes: 1 << 20,
  segmentRollMs: undefined,
  recordFormat: undefined,
  visibility: "written",
  flushEveryRecords: undefined,
  flushEveryMs: undefined,
  retentionBytes: undefined,
  retentionMs: undefined,
});

const catalogOf = (...topics: readonly TopicOptions[]): Catalog => new Catalog(topics, (topic, id) => `${topic}-${id}`);

function find(catalog: Catalog, name: string): string | undefined {
  const { view, from, end } = embed(ascii(name), 0x61);
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return catalog.find(bytes, from, end - from)?.name;
}

describe("the catalog", () => {
  it("finds each of many topics by its bytes, and nothing that is not there", () => {
    const names = Array.from({ length: 3000 }, (_, i) => `topic.${i}`);
    const catalog = catalogOf(...names.map((name) => options(name)));
    for (const name of names) expect(find(catalog, name)).toBe(name);
    for (const name of ["topic.3000", "topic.", "topic", "Topic.1", "topic.1 ", ""])
      expect(find(catalog, name)).toBeUndefined();
  });

  it("sorts topics by name, and numbers all partitions through", () => {
    const catalog = catalogOf(options("b", 2), options("a"), options("B", 1));
    expect(catalog.topics.map(({ name }) => name)).toEqual(["B", "a", "b"]);
    expect(catalog.partitions.map(({ name, index, dir }) => [name, index, dir])).toEqual([
      ["B-0", 0, "B-0"],
      ["a-0", 1, "a-0"],
      ["b-0", 2, "b-0"],
      ["b-1", 3, "b-1"],
    ]);
  });
});
