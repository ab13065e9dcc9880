// What the console computes before it draws: the history of rates, shapes of segments, addresses of pages.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { emptyHistory, type History, latest, latestWithin, withRates } from "../../console/src/lib/history.js";
import { above, parsePlace, to } from "../../console/src/lib/router.js";
import { blocksOf, marksOf, placeOf } from "../../console/src/lib/segments.js";
import { packageRoot } from "../../src/native/load.js";
import type { RateColumns, Rates, SegmentView } from "../../src/ops/api/types.js";
import { filesBelow } from "../rules/sources.js";

/** Samples `first` to `next`, each worth its own number. */
function rates(first: number, next: number): Rates {
  const atMs = Array.from({ length: next - first }, (_, i) => (first + i) * 1000);
  const columns = { errors: atMs.map((ms) => ms / 1000), fetchP50Ms: atMs.map(() => null) } as Partial<RateColumns>;
  return { intervalMs: 1000, first, next, atMs, columns: columns as RateColumns };
}

describe("the history of rates", () => {
  it("grows by what is new, and keeps ten minutes", () => {
    let history: History = withRates(emptyHistory, rates(0, 3), "a");
    history = withRates(history, rates(3, 3), "a");
    history = withRates(history, rates(3, 700), "a");
    expect([history.next, history.atMs.length, history.atMs[0]]).toEqual([700, 600, 100_000]);
    expect([history.columns.errors?.[0], latest(history, "errors")]).toEqual([100, 699]);
  });

  it("begins anew when the broker did", () => {
    const before = withRates(emptyHistory, rates(0, 500), "a");
    // It answers with what it has, which is less than what was asked for.
    const asked = withRates(before, rates(2, 2), "a");
    expect([asked.next, asked.atMs]).toEqual([0, []]);
    expect(withRates(asked, rates(0, 3), "a").atMs).toEqual([0, 1000, 2000]);
  });

  it("begins anew when another run had as many samples as the page had seen", () => {
    const before = withRates(emptyHistory, rates(0, 50), "a");
    const asked = withRates(before, rates(50, 90), "b");
    expect(asked).toEqual({ ...emptyHistory, run: "b" });
    expect(withRates(asked, rates(0, 91), "b").atMs).toHaveLength(91);
  });

  it("goes on when its run becomes known, or is not known for a while", () => {
    const unknown = withRates(emptyHistory, rates(0, 3), undefined);
    const known = withRates(unknown, rates(3, 5), "a");
    const later = withRates(known, rates(5, 6), undefined);
    expect([known.atMs.length, later.atMs.length, later.run]).toEqual([5, 6, "a"]);
  });

  it("leaves no hole when more was missed than the broker keeps", () => {
    const history = withRates(withRates(emptyHistory, rates(0, 10), "a"), rates(900, 905), "a");
    expect(history.atMs).toEqual([900_000, 901_000, 902_000, 903_000, 904_000]);
  });

  it("has no newest number where there was nothing to measure", () => {
    const history: History = {
      ...withRates(emptyHistory, rates(0, 3), "a"),
      columns: { fetchP50Ms: [1, 2, null, null] },
    };
    expect([latest(history, "fetchP50Ms"), latestWithin(history, "fetchP50Ms", 3)]).toEqual([null, 2]);
    expect([latestWithin(history, "fetchP50Ms", 2), latest(history, "errors")]).toEqual([null, null]);
  });
});

const segment = (baseOffset: number, endOffset: number, active = false): SegmentView => ({
  baseOffset,
  endOffset,
  bytes: 1,
  allocatedBytes: 1,
  sealed: !active,
  active,
  firstAppendMs: null,
  lastAppendMs: null,
});

describe("segments", () => {
  it("are as wide as they have offsets", () => {
    const blocks = blocksOf([segment(10, 20), segment(20, 50), segment(50, 110, true)], 10, 110, 0.001);
    expect(blocks.map(({ from, to, active }) => [from, to, active])).toEqual([
      [0, 0.1, false],
      [0.1, 0.4, false],
      [0.4, 1, true],
    ]);
  });

  it("that are too narrow are drawn together, each of them once, the active one by itself", () => {
    const many = Array.from({ length: 10_000 }, (_, i) => segment(i, i + 1, i === 9_999));
    const blocks = blocksOf(many, 0, 10_000, 0.003);
    expect(blocks.length).toBeLessThan(700);
    expect(blocks.reduce((sum, { count }) => sum + count, 0)).toBe(10_000);
    expect(blocks.at(-1)).toMatchObject({ first: 9_999, count: 1, active: true, to: 1 });
    for (const [at, { from, first }] of blocks.slice(1).entries()) {
      expect([from, first]).toEqual([blocks[at].to, blocks[at].first + blocks[at].count]);
    }
  });

  it("of an empty log lie nowhere, and an offset outside of it at its end", () => {
    expect(blocksOf([segment(7, 7, true)], 7, 7, 0.01)).toEqual([]);
    expect([placeOf(7, 7, 7), placeOf(5, 10, 20), placeOf(25, 10, 20)]).toEqual([0, 0, 1]);
  });

  it("have marks in order, one for each offset", () => {
    const offsets = [
      { label: "start", offset: 0 },
      { label: "high watermark", offset: 8 },
      { label: "durable", offset: 4 },
      { label: "end", offset: 8 },
    ];
    expect(marksOf(offsets, 0, 8)).toEqual([
      { labels: ["start"], offset: 0, at: 0 },
      { labels: ["durable"], offset: 4, at: 0.5 },
      { labels: ["high watermark", "end"], offset: 8, at: 1 },
    ]);
  });
});

describe("an address", () => {
  it.each([
    [to.overview, { name: "overview" }],
    ["", { name: "overview" }],
    [to.topics, { name: "topics" }],
    [to.broker, { name: "broker" }],
    [to.topic("a/b ü%"), { name: "topic", topic: "a/b ü%" }],
    [to.tail("a", "1,2"), { name: "tail", topic: "a" }],
    [to.partition("tail", 7), { name: "partition", topic: "tail", partition: 7 }],
    [to.records("a", 7, { offset: 9 }), { name: "records", topic: "a", partition: 7 }],
    ["#/topics/a/x", { name: "unknown", path: "/topics/a/x" }],
    ["#/topics/a/1/x", { name: "unknown", path: "/topics/a/1/x" }],
    ["#/topics/%zz", { name: "topic", topic: "%zz" }],
  ])("%s leads to its page", (hash, page) => expect(parsePlace(hash).page).toEqual(page));

  it("keeps what is asked for", () => {
    expect(parsePlace(to.records("a", 7, { offset: 9, found: undefined })).query.toString()).toBe("offset=9");
    expect(parsePlace(to.tail("a", "1,2")).query.get("partition")).toBe("1,2");
  });

  it("has one above it, up to the top", () => {
    const path = [to.records("a", 1)];
    for (let next = above(parsePlace(path[0]).page); next !== undefined; next = above(parsePlace(next).page))
      path.push(next);
    expect(path.slice(1)).toEqual([to.partition("a", 1), to.topic("a"), to.topics, to.overview]);
  });
});

describe("the console's sources", () => {
  const sources = filesBelow("console/src", [".ts", ".tsx"]);

  it("know of the broker its API's types alone", () => {
    const imports = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/^.*from "(\.\.\/[./]*src\/[^"]+)".*$|^\} from "(\.\.\/[./]*src\/[^"]+)"/gm)].map(
        ([line]) => `${path}: ${line}`,
      ),
    );
    expect(imports.length).toBeGreaterThan(5);
    expect(
      imports.filter(
        (each) => !/^\S+: import type \{[^}]*\} from "\.\.\/\.\.\/\.\.\/src\/ops\/api\/types\.js";$/.test(each),
      ),
    ).toEqual([]);
  });

  it("name no address of another machine", () => {
    const all = [...sources, ...filesBelow("console", [".html", ".css", ".svg"])];
    const named = all.flatMap(({ path, text }) =>
      (text.match(/https?:\/\/[^\s"')]+/g) ?? []).map((url) => `${path}: ${url}`),
    );
    expect(named).toEqual(["console/public/icon.svg: http://www.w3.org/2000/svg"]);
  });

  it("are built for a policy that allows nothing inline", () => {
    const page = readFileSync(join(packageRoot(), "dist/console/index.html"), "utf8");
    expect(page).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/);
    expect(page).toMatch(/<script type="module"[^>]* src="\.\/assets\/index-[\w-]{8}\.js">/);
  });
});
