// The pages: everything of a result is in them, they need no network, and what is drawn is where the numbers say.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bundlePage } from "../../bench/bench.mjs";
import { markdown, type SectionResult } from "../../bench/lib/report.js";
import { mergeResults, readResult, resultPath, writeResult } from "../../bench/lib/results.js";
import { chartsOf } from "../../bench/report/charts.js";
import { html, prose } from "../../bench/report/html.js";
import { picturesOf } from "../../bench/report/pictures.js";
import { logTicks, niceMax, scaleLinear, scaleLog } from "../../bench/report/scale.js";
import { barsSvg, svgFile, timesSvg } from "../../bench/report/svg.js";
import { tempDir } from "../support/tmp.js";
import { caseOf, latency, runOf } from "./results.js";

const rates = [100, 100, 40, 100, 100, 100];

async function section(name = "forced"): Promise<SectionResult> {
  const one = await caseOf("64 producers <b>", "requests/s", [
    { name: "millrace", values: [50, 60], more: { latency: latency(2), timeline: { intervalMs: 1000, rates } } },
    { name: "floor", values: [100, 100], more: { latency: latency(1) } },
  ]);
  return { name, title: `Title of ${name}`, about: "About `code` & *this*.", cases: [one] };
}

describe("the charts of a section", () => {
  it("have each side's median, spread and ratio; what is compared with is series 0", async () => {
    const { bars } = chartsOf(await section());
    expect(bars[0]?.bars).toEqual([
      { name: "millrace", series: 1, value: 55, min: 50, max: 60, ratio: 0.55 },
      { name: "floor", series: 0, value: 100, min: 100, max: 100, ratio: undefined },
    ]);
  });

  it("give a name one colour in all cases of a section, whatever it is compared with there", async () => {
    const first = await caseOf("a", "µs", [
      { name: "millrace", values: [2] },
      { name: "floor", values: [1] },
    ]);
    const names = ["millrace", "floor", "bare"];
    const second = await caseOf(
      "b",
      "µs",
      names.map((name) => ({ name, values: [1] })),
    );
    const { bars } = chartsOf({ cases: [first, second] });
    expect(bars.map((group) => group.bars.map(({ series }) => series))).toEqual([
      [1, 0],
      [1, 0, 2],
    ]);
  });

  it("have percentiles in order and the course of time with its worst second", async () => {
    const { percentiles, times } = chartsOf(await section());
    expect(percentiles[0]?.curves.map(({ values }) => values)).toEqual([
      [20, 40, 100, 180, 200, 400],
      [10, 20, 50, 90, 100, 200],
    ]);
    expect(times[0]?.curves).toHaveLength(1);
    expect(times[0]?.curves[0]?.figures).toMatchObject({ worst: 40, worstAt: 2, steadiness: 0.4 });
  });
});

describe("the course of time", () => {
  it("is that of one sample, and its titles say which", async () => {
    const of = await section();
    expect(chartsOf(of).times[0]?.drawn).toBe("middle of 2 samples");
    const picture = picturesOf(of).find(({ kind }) => kind === "time");
    expect(picture?.title).toBe("Title of forced: over time, middle of 2 samples");
    expect(picture?.svg).toMatch(/requests\/s, middle of 2 samples<\/tspan>/);
    const [one] = of.cases;
    const single = { ...one, sides: one.sides.map((side) => ({ ...side, value: { ...side.value, samples: 1 } })) };
    expect(chartsOf({ cases: [single] }).times[0]?.drawn).toBe("the only sample");
  });

  it("is said to be that sample's in the page, too", async () => {
    expect(await readFile("bench/report/page.mjs", "utf8")).toContain("chart.drawn");
    expect(html(runOf([await section()]), { style: "", script: "" })).toContain('"drawn":"middle of 2 samples"');
  });
});

describe("the pictures", () => {
  it("are as long as the numbers say", async () => {
    const svg = barsSvg(chartsOf(await section()).bars, "t");
    const widths = [...svg.matchAll(/class="b s\d" x="[\d.]+" y="\d+" width="([\d.]+)"/g)].map(([, width]) =>
      Number(width),
    );
    expect(widths).toHaveLength(2);
    expect((widths[0] as number) / (widths[1] as number)).toBeCloseTo(0.55, 2);
  });

  it("ring the worst second", async () => {
    const svg = timesSvg(chartsOf(await section()).times, "t");
    expect(svg).toContain("millrace: worst 40, 0.40 of the median");
    const ring = /<circle class="l s1" cx="([\d.]+)"/.exec(svg)?.[1];
    // Third of six points between 72 and 820.
    expect(Number(ring)).toBeCloseTo(72 + ((820 - 72) * 2) / 5, 0);
  });

  it("stand alone: well formed, with their own style, names escaped", async () => {
    for (const { svg } of picturesOf(await section())) {
      const file = svgFile(svg);
      expect(file).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"[^>]*><style>/);
      expect(file).not.toContain("<b>");
      const opened = [...file.matchAll(/<([a-z]+)(?: [^>]*[^/])?>/g)].map(([, name]) => name);
      const closed = [...file.matchAll(/<\/([a-z]+)>/g)].map(([, name]) => name);
      expect(opened.toSorted()).toEqual(closed.toSorted());
    }
  });

  it("scale", () => {
    expect(scaleLinear(0, 10, 100, 200)(5)).toBe(150);
    expect(scaleLinear(1, 1, 100, 200)(1)).toBe(100);
    expect(scaleLog(1, 100, 0, 10)(10)).toBe(5);
    expect(logTicks(30, 2000)).toEqual([10, 100, 1000, 10_000]);
    expect(logTicks(10, 10)).toEqual([10, 100]);
    expect([0, 97, 1000, 1100].map(niceMax)).toEqual([1, 100, 1000, 1200]);
  });
});

describe("the page", () => {
  const assets = { style: "p{}", script: "1 < 2" };

  it("has every number, command and fact, and escapes what it shows", async () => {
    const page = html(runOf([await section()]), assets);
    for (const text of [
      "a processor",
      "64 producers &lt;b&gt;",
      "run millrace &amp; wait",
      "0.55 (0.50 – 0.60)",
      "2 × 1 s",
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain("<b>");
    expect(page).toContain("About <code>code</code> &amp; <em>this</em>.");
  });

  it("carries its charts as data that no text can break out of", async () => {
    const page = html(runOf([await section()]), assets);
    const json = /<script type="application\/json" id="charts">(.*?)<\/script>/s.exec(page)?.[1] ?? "";
    expect(json).not.toContain("<");
    const { sections } = JSON.parse(json) as { sections: Record<string, { times: { label: string }[] }> };
    expect(sections.forced?.times[0]?.label).toBe("64 producers <b>, WRITTEN");
  });

  it("needs no network: with its real script and style nothing in it is an address to load", async () => {
    const built = await bundlePage();
    const real = {
      style: await readFile(join(built, "page.css"), "utf8"),
      script: await readFile(join(built, "page.js"), "utf8"),
    };
    const page = html(runOf([await section()]), real);
    expect(page.length).toBeGreaterThan(50_000);
    expect(page).not.toMatch(/(src|href)=["']?(https?:)?\/\//);
    expect(page).not.toMatch(/@import|url\(|fetch\(|XMLHttpRequest/);
  });

  it("knows the Markdown of questions' texts", () => {
    expect(prose("a **b** *c d* 2 * 3 `<x>`")).toBe("a <strong>b</strong> <em>c d</em> 2 * 3 <code>&lt;x&gt;</code>");
  });
});

describe("results", () => {
  it("come back from their file as they were, and something else is refused", async () => {
    const dir = tempDir();
    const run = runOf([await section()]);
    const path = resultPath(dir, run);
    await writeResult(path, run);
    expect(await readResult(path)).toEqual(JSON.parse(JSON.stringify(run)));
    await writeResult(path, {} as never);
    await expect(readResult(path)).rejects.toThrow("not a result");
  });

  it("merge: a later run's section takes the place of an earlier one and says so", async () => {
    const first = runOf([await section("start"), await section("append")], "one");
    const second = runOf([await section("append")], "two", "2025-01-02 00:00");
    const merged = mergeResults([first, second], ["append", "start"]);
    expect(merged.sections.map(({ name }) => name)).toEqual(["append", "start"]);
    expect(merged.environment.commit).toBe("one");
    const text = markdown(merged);
    expect(text.match(/Out of a run of its own/g)).toHaveLength(1);
    expect(text).toContain("commit two, load before 0 0 0, `npm run bench -- from-two`");
  });

  it("are in the Markdown with their pictures", async () => {
    const text = markdown(runOf([await section()]), ({ name }) => [{ path: `figures/${name}-bars.svg`, title: "T" }]);
    expect(text).toContain("![T](figures/forced-bars.svg)");
  });
});
