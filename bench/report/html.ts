// The report as one page that needs nothing else: style, script, pictures and numbers are in it, light and dark, no network. Bars are
// drawn here; what has a course (time, percentiles) is drawn by the script, which shows values under the cursor.

import { type CaseResult, costs, detailText, shortNumber } from "../lib/figures.js";
import { type GoalResult, goalsOf, verdictText } from "../lib/goals.js";
import { improvements, PROFILES } from "../lib/profiles.js";
import {
  doubtful,
  factsOf,
  GOALS,
  intro,
  type RunResult,
  runOf,
  type SectionResult,
  unrepeatable,
} from "../lib/report.js";
import { chartsOf, PERCENTILES } from "./charts.js";
import { barsSvg, escapeXml, SERIES_DARK, SERIES_LIGHT } from "./svg.js";

/** What the page is made of beside the numbers. */
export interface PageAssets {
  readonly style: string;
  readonly script: string;
}

export function html(result: RunResult, { style, script }: PageAssets): string {
  const { sections } = result;
  const goals = goalsOf(sections, result.asked);
  const warnings = [unrepeatable(result), doubtful(result)].flatMap((warning) => warning ?? []);
  return [
    "<!doctype html>",
    `<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`,
    `<title>millrace: figures</title><style>${palette()}${style}</style></head><body>`,
    `<nav aria-label="questions"><h2>Questions</h2><ol>${goals.length === 0 ? "" : '<li><a href="#goals">Goals</a></li>'}<li><a href="#profiles">Before and after</a></li>${sections.map(entry).join("")}</ol></nav>`,
    "<main><header><h1>Figures</h1>",
    `<p>${prose(intro(result))}</p>`,
    ...warnings.map((warning) => `<p class="warning">${prose(warning)}</p>`),
    `<dl class="facts">${factsOf(result)
      .map(([name, fact]) => `<dt>${escapeXml(name)}</dt><dd>${prose(fact)}</dd>`)
      .join("")}</dl></header>`,
    goalsHtml(goals),
    profilesHtml(),
    ...sections.map((section) => sectionHtml(section, result)),
    "</main>",
    `<script type="application/json" id="charts">${dataOf(sections)}</script>`,
    `<script>${script.replaceAll("</script", "<\\/script")}</script>`,
    "</body></html>\n",
  ].join("\n");
}

/** Both palettes as custom properties: the script reads them for its canvases. */
function palette(): string {
  const rules = (colors: readonly string[]): string => colors.map((color, n) => `--s${n}:${color};`).join("");
  const classes = SERIES_LIGHT.map((_, n) => `.s${n}{fill:var(--s${n});stroke:var(--s${n})}`).join("");
  return `:root{${rules(SERIES_LIGHT)}}@media(prefers-color-scheme:dark){:root{${rules(SERIES_DARK)}}}${classes}`;
}

const entry = ({ name, title }: SectionResult): string => `<li><a href="#${name}">${escapeXml(title)}</a></li>`;

/** The little Markdown that texts of questions use: `code`, **strong**, *emphasis*. */
export const prose = (text: string): string =>
  escapeXml(text)
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>")
    .replaceAll(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>")
    .replaceAll(/\*([^*\s][^*]*)\*/g, "<em>$1</em>");

function goalsHtml(goals: readonly GoalResult[]): string {
  if (goals.length === 0) return "";
  const rows = goals.map((goal) => {
    const [what, asked, is] = [goal.what, goal.asked, goal.is].map(escapeXml);
    const verdict = prose(verdictText(goal));
    return `<tr><td class="t">${what}</td><td>${asked}</td><td>${is}</td><td class="t">${verdict}</td></tr>`;
  });
  const head = '<tr><th class="t">goal</th><th>asked</th><th>is</th><th class="t"></th></tr>';
  return (
    `<section id="goals"><h2>Goals</h2><p>${prose(GOALS)}</p>` +
    `<div class="wide"><table><thead>${head}</thead><tbody>${rows.join("")}</tbody></table></div></section>`
  );
}

function profilesHtml(): string {
  const rows = improvements.map(({ path, cost, before, after, measured }) => {
    const cells = [path, cost, before, after, measured].map((text) => `<td class="t">${prose(text)}</td>`);
    return `<tr>${cells.join("")}</tr>`;
  });
  const head = ["path", "what it was", "before", "after", "measured"].map((text) => `<th class="t">${text}</th>`);
  return (
    `<section id="profiles"><h2>Before and after</h2><p>${prose(PROFILES)}</p>` +
    `<div class="wide"><table><thead><tr>${head.join("")}</tr></thead><tbody>${rows.join("")}</tbody></table></div></section>`
  );
}

function sectionHtml(section: SectionResult, result: RunResult): string {
  const { name, title, about, cases } = section;
  const { bars, percentiles, times } = chartsOf(section);
  const commands = [...new Set(cases.flatMap(({ sides }) => sides.map(({ command }) => command)))];
  const own = runOf(section, result);
  const plots = [
    ...times.map((_, index) => plot(name, "times", index)),
    ...percentiles.map((_, index) => plot(name, "percentiles", index)),
  ];
  return [
    `<section id="${name}"><h2>${escapeXml(title)}</h2><p>${prose(about)}</p>`,
    own === undefined ? "" : `<p class="quiet">${prose(own)}</p>`,
    bars.length === 0 ? "" : `<figure class="bars">${barsSvg(bars, title)}</figure>`,
    plots.length === 0 ? "" : `<div class="plots">${plots.join("")}</div>`,
    `<details><summary>numbers</summary>${table(cases)}</details>`,
    `<details><summary>commands</summary><pre>${commands.map(escapeXml).join("\n")}</pre></details></section>`,
  ].join("\n");
}

const plot = (section: string, kind: string, index: number): string =>
  `<figure class="plot ${kind}" data-chart="${section} ${kind} ${index}"></figure>`;

function table(cases: readonly CaseResult[]): string {
  const details = [...new Set(cases.flatMap(({ sides }) => sides.flatMap((side) => Object.keys(side.details))))];
  const head = ["case", "flush", "side", "value", "unit", "lowest – highest", "to the floor", ...details, "sample"];
  const rows = cases.flatMap((one) =>
    one.sides.map((side, index) => {
      const { value, ratio } = side;
      const cells = [
        index === 0 ? one.label : "",
        index === 0 ? one.flush : "",
        side.name,
        shortNumber(value.median),
        one.unit,
        `${shortNumber(value.min)} – ${shortNumber(value.max)}`,
        ratio === undefined ? "" : `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)} – ${ratio.max.toFixed(2)})`,
        ...details.map((name) => detailText(one, side, name) ?? ""),
        `${value.samples} × ${one.sample}`,
      ];
      const begins = index === 0 ? ' class="begins"' : "";
      return `<tr${begins}>${cells.map((cell, at) => `<td${at < 3 ? ' class="t"' : ""}>${escapeXml(cell)}</td>`).join("")}</tr>`;
    }),
  );
  const less = cases.some(({ unit }) => costs.has(unit)) ? `<p class="quiet">${LESS}</p>` : "";
  const titles = head.map((name, at) => `<th${at < 3 ? ' class="t"' : ""}>${escapeXml(name)}</th>`).join("");
  return `${less}<div class="wide"><table><thead><tr>${titles}</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

const LESS = "In units of time and bytes less is better: a ratio above 1 is the cost over the floor.";

/** What the script draws. `<` is written so that no text in it can end the element. */
function dataOf(sections: readonly SectionResult[]): string {
  const charts = sections.map((section) => {
    const { percentiles, times } = chartsOf(section);
    return [section.name, { percentiles, times }] as const;
  });
  const data = {
    columns: PERCENTILES.map(([name]) => name),
    colors: SERIES_LIGHT.length,
    sections: Object.fromEntries(charts),
  };
  return JSON.stringify(data).replaceAll("<", "\\u003c");
}
