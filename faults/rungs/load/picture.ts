// Memory, descriptors and connections over time, one under the other, as an SVG that stands alone.

import { niceMax, scaleLinear } from "../../../bench/report/scale.js";
import { escapeXml, svgFile } from "../../../bench/report/svg.js";
import type { Sample } from "./sample.js";

const WIDTH = 860;
const PANEL = 150;
const [LEFT, RIGHT, TOP, BOTTOM] = [72, WIDTH - 20, 30, PANEL - 24];

const MiB = 1024 * 1024;
const PANELS: readonly { readonly title: string; readonly value: (sample: Sample) => number }[] = [
  { title: "Memory of its own (RssAnon), MiB", value: ({ memory }) => memory / MiB },
  { title: "Descriptors", value: ({ descriptors }) => descriptors },
  { title: "Connections", value: ({ connections }) => connections },
  { title: "Bytes queued, MiB", value: ({ queuedBytes }) => queuedBytes / MiB },
];

const round = (value: number): number => Math.round(value * 10) / 10;
const text = (x: number, y: number, type: string, what: string): string =>
  `<text x="${round(x)}" y="${round(y)}" class="${type}">${escapeXml(what)}</text>`;

/** Lines through all panels, numbered from 1, at these seconds. */
export function samplesSvg(samples: readonly Sample[], marks: readonly number[], title: string): string {
  const first = samples[0]?.at ?? 0;
  const longest = Math.max(first + 1, ...samples.map(({ at }) => at));
  const x = scaleLinear(first, longest, LEFT, RIGHT);
  const panels = PANELS.map(({ title: label, value }, index) => {
    const y0 = index * PANEL;
    const highest = niceMax(Math.max(1, ...samples.map(value)));
    const y = scaleLinear(0, highest, y0 + BOTTOM, y0 + TOP);
    const points = samples.map((sample) => `${round(x(sample.at))} ${round(y(value(sample)))}`);
    return [
      text(8, y0 + 18, "h", label),
      ...[0, 0.5, 1].map((part) => {
        const at = highest * part;
        const line = `<path class="g" d="M${LEFT} ${round(y(at))}H${RIGHT}"/>`;
        return `${line}${text(LEFT - 6, y(at) + 4, "q e", String(round(at)))}`;
      }),
      ...[0, 0.25, 0.5, 0.75, 1].map((part) =>
        text(
          x(first + (longest - first) * part),
          y0 + BOTTOM + 15,
          "q m",
          `${Math.round(first + (longest - first) * part)} s`,
        ),
      ),
      ...marks.map((at, number) => {
        const line = `<path class="g" stroke-dasharray="3 3" d="M${round(x(at))} ${y0 + TOP}V${y0 + BOTTOM}"/>`;
        return `${line}${text(x(at) + 3, y0 + TOP - 3, "q", String(number + 1))}`;
      }),
      points.length === 0 ? "" : `<path class="l s${index}" d="M${points.join("L")}"/>`,
    ].join("");
  });
  const size = `viewBox="0 0 ${WIDTH} ${PANELS.length * PANEL}" width="${WIDTH}" height="${PANELS.length * PANEL}"`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${escapeXml(title)}">${panels.join("")}</svg>`;
  return svgFile(svg);
}
