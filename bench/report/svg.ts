// The pictures: bars, percentiles and the course of time as SVG, for the Markdown as files and in the page as they are. Colours are
// classes; a file brings the style sheet for them along, light and dark, the page has its own.

import { shortNumber } from "../lib/figures.js";
import {
  type BarGroup,
  PERCENTILES,
  type PercentileChart,
  type Series,
  type TimeChart,
  type TimeCurve,
} from "./charts.js";
import { logTicks, niceMax, scaleLinear, scaleLog } from "./scale.js";

const WIDTH = 860;
const FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/** The same colours as the page's and the console's. */
export const SERIES_LIGHT = [
  "#8a949d",
  "#1f77a4",
  "#b8600b",
  "#2b8a57",
  "#b0356b",
  "#6b4fa0",
  "#77751b",
  "#157f80",
] as const;
export const SERIES_DARK = [
  "#79848e",
  "#5db4dc",
  "#eba25a",
  "#67c594",
  "#e783b1",
  "#ac95e0",
  "#c7c35c",
  "#58c5c5",
] as const;

const seriesClass = (series: Series): string =>
  series === 0 ? "s0" : `s${((series - 1) % (SERIES_LIGHT.length - 1)) + 1}`;

const seriesRules = (colors: readonly string[]): string =>
  colors.map((color, index) => `.s${index}{fill:${color};stroke:${color}}`).join("");

const FILE_STYLE = [
  `text{font:12px ${FONT};fill:#1b2126;stroke:none}.q{fill:#5c6770}.h{font-weight:600}.e{text-anchor:end}.m{text-anchor:middle}`,
  ".p{fill:#fff}.g{stroke:#e3e6e9;fill:none}.w{stroke:#1b2126;fill:none}.l{fill:none;stroke-width:1.5}.b{stroke:none}.d{stroke:none}",
  seriesRules(SERIES_LIGHT),
  "@media(prefers-color-scheme:dark){text{fill:#e3e7ea}.q{fill:#9aa5af}.p{fill:#14171b}.g{stroke:#2a3037}.w{stroke:#e3e7ea}",
  seriesRules(SERIES_DARK),
  "}.l{fill:none}.b,.d{stroke:none}",
].join("");

/** A picture that stands alone. */
export function svgFile(svg: string): string {
  return `${svg.replace(/^(<svg [^>]*>)/, `$1<style>${FILE_STYLE}</style><rect class="p" width="100%" height="100%"/>`)}\n`;
}

export const escapeXml = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c);

const round = (value: number): string => String(Math.round(value * 10) / 10);
const clip = (text: string, letters: number): string =>
  escapeXml(text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

function text(x: number, y: number, classes: string, content: string): string {
  return `<text x="${round(x)}" y="${round(y)}"${classes === "" ? "" : ` class="${classes}"`}>${content}</text>`;
}

function svg(height: number, title: string, parts: readonly string[]): string {
  const view = `viewBox="0 0 ${WIDTH} ${round(height)}" width="${WIDTH}" height="${round(height)}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${view} role="img"><title>${escapeXml(title)}</title>${parts.join("")}</svg>`;
}

/** Names of sides stand left of the bars, numbers right of them. */
const LETTER = 6.6;
const NAME_LETTERS_MAX = 44;
const NUMBERS_WIDTH = 150;
const ROW = 20;

/** Bars of all cases below each other, each case on its own scale; a line through a bar's end goes from the lowest to the highest sample. */
export function barsSvg(groups: readonly BarGroup[], title: string): string {
  const parts: string[] = [];
  const letters = Math.max(0, ...groups.flatMap(({ bars }) => bars.map(({ name }) => name.length)));
  const left = Math.round(24 + LETTER * Math.min(NAME_LETTERS_MAX, letters));
  let y = 4;
  for (const { label, flush, unit, lessIsBetter, bars } of groups) {
    y += 18;
    const what = [unit, flush === "none" ? "" : flush, lessIsBetter ? "less is better" : ""].filter((t) => t !== "");
    parts.push(
      text(8, y, "h", `${clip(label, 90)} <tspan class="q" font-weight="400">${escapeXml(what.join(", "))}</tspan>`),
    );
    y += 8;
    const scale = scaleLinear(0, Math.max(...bars.map(({ max }) => max)) || 1, left, WIDTH - NUMBERS_WIDTH);
    for (const bar of bars) {
      const [to, low, high, middle] = [scale(bar.value), scale(bar.min), scale(bar.max), y + ROW / 2];
      const width = Math.max(1, to - left);
      parts.push(
        text(left - 8, middle + 4, "e", clip(bar.name, NAME_LETTERS_MAX)),
        `<rect class="b ${seriesClass(bar.series)}" x="${left}" y="${y + 3}" width="${round(width)}" height="${ROW - 6}" rx="2"/>`,
        bar.min === bar.max
          ? ""
          : `<path class="w" d="M${round(low)} ${middle}H${round(high)}M${round(low)} ${middle - 3}v6M${round(high)} ${middle - 3}v6"/>`,
        text(Math.max(high, to) + 8, middle + 4, "", `${shortNumber(bar.value)}${ratioText(bar.ratio)}`),
      );
      y += ROW;
    }
    y += 8;
  }
  return svg(y + 4, title, parts);
}

const ratioText = (ratio: number | undefined): string =>
  ratio === undefined ? "" : ` <tspan class="q">× ${ratio.toFixed(2)}</tspan>`;

function legend(x: number, y: number, names: readonly { readonly name: string; readonly series: Series }[]): string {
  let at = x;
  return names
    .map(({ name, series }) => {
      const entry = `<circle class="d ${seriesClass(series)}" cx="${round(at + 4)}" cy="${y - 4}" r="4"/>${text(at + 12, y, "q", clip(name, 64))}`;
      at += 26 + 6.3 * Math.min(64, name.length);
      return entry;
    })
    .join("");
}

const PANEL = { left: 56, right: 14, top: 44, bottom: 24, height: 216 };

/** Two beside each other; microseconds on a logarithmic axis. */
export function percentilesSvg(charts: readonly PercentileChart[], title: string): string {
  const columns = charts.length === 1 ? 1 : 2;
  const width = WIDTH / columns;
  const parts = charts.map(({ label, curves }, index) => {
    const [x0, y0] = [(index % columns) * width, Math.floor(index / columns) * PANEL.height];
    const [left, right] = [x0 + PANEL.left, x0 + width - PANEL.right];
    const [top, bottom] = [y0 + PANEL.top, y0 + PANEL.height - PANEL.bottom];
    const all = curves.flatMap(({ values }) => values).filter((value) => value > 0);
    const ticks = logTicks(Math.min(...all), Math.max(...all));
    const y = scaleLog(ticks[0], ticks[ticks.length - 1], bottom, top);
    const x = scaleLinear(0, PERCENTILES.length - 1, left + 12, right - 18);
    return [
      text(x0 + 8, y0 + 16, "h", clip(label, columns === 1 ? 100 : 56)),
      legend(x0 + 8, y0 + 34, curves),
      ...ticks.map(
        (tick) =>
          `<path class="g" d="M${round(left)} ${round(y(tick))}H${round(right)}"/>${text(left - 6, y(tick) + 4, "q e", duration(tick))}`,
      ),
      ...PERCENTILES.map(([name], at) => text(x(at), bottom + 16, "q m", name)),
      ...curves.map(({ series, values }) => {
        const points = values.map((value, at) => `${round(x(at))} ${round(y(Math.max(value, ticks[0])))}`);
        const dots = points.map(
          (p) => `<circle class="d ${seriesClass(series)}" cx="${p.replace(" ", '" cy="')}" r="2.5"/>`,
        );
        return `<path class="l ${seriesClass(series)}" d="M${points.join("L")}"/>${dots.join("")}`;
      }),
    ].join("");
  });
  return svg(Math.ceil(charts.length / columns) * PANEL.height, title, parts);
}

/** A tick of a logarithmic axis. */
export const duration = (us: number): string =>
  us >= 1e6 ? `${shortNumber(us / 1e6)} s` : us >= 1000 ? `${shortNumber(us / 1000)} ms` : `${shortNumber(us)} µs`;

const withWorst = ({ name, series, figures }: TimeCurve): { name: string; series: Series } => ({
  name: `${name}: worst ${shortNumber(figures.worst)}, ${figures.steadiness.toFixed(2)} of the median`,
  series,
});

/** Each chart over the whole width, its worst interval marked on every curve. */
export function timesSvg(charts: readonly TimeChart[], title: string): string {
  const parts = charts.map(({ label, unit, intervalMs, drawn, curves }, index) => {
    const y0 = index * PANEL.height;
    const [left, right] = [72, WIDTH - 40];
    const [top, bottom] = [y0 + PANEL.top, y0 + PANEL.height - PANEL.bottom];
    const longest = Math.max(...curves.map(({ values }) => values.length));
    const highest = niceMax(Math.max(...curves.flatMap(({ values }) => values)));
    const y = scaleLinear(0, highest, bottom, top);
    const x = scaleLinear(0, Math.max(1, longest - 1), left, right);
    const seconds = (at: number): string => `${shortNumber((at * intervalMs) / 1000)} s`;
    return [
      text(
        8,
        y0 + 16,
        "h",
        `${clip(label, 90)} <tspan class="q" font-weight="400">${escapeXml(`${unit}, ${drawn}`)}</tspan>`,
      ),
      legend(8, y0 + 34, curves.map(withWorst)),
      ...[0, 0.25, 0.5, 0.75, 1].map((part) => {
        const value = highest * part;
        return `<path class="g" d="M${left} ${round(y(value))}H${right}"/>${text(left - 6, y(value) + 4, "q e", shortNumber(value))}`;
      }),
      ...[0, 0.25, 0.5, 0.75, 1].map((part) => {
        const at = Math.round((longest - 1) * part);
        return text(x(at), bottom + 16, "q m", seconds(at));
      }),
      ...curves.map(({ series, values, figures }) => {
        const line = values.map((value, at) => `${round(x(at))} ${round(y(value))}`).join("L");
        const [wx, wy] = [x(figures.worstAt), y(figures.worst)];
        return [
          `<path class="l ${seriesClass(series)}" d="M${line}"/>`,
          `<circle class="l ${seriesClass(series)}" cx="${round(wx)}" cy="${round(wy)}" r="5"/>`,
        ].join("");
      }),
    ].join("");
  });
  return svg(charts.length * PANEL.height, title, parts);
}
