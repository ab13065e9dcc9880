// A chart of some columns over the last minutes, drawn by uPlot on a canvas. Its legend is ours: the newest values, or those under
// the cursor, which all charts of a page share.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock, NOTHING } from "../lib/format.js";
import { useDark } from "./narrow.js";

export type Values = readonly (number | null)[];

export interface Line {
  readonly label: string;
  readonly values: Values;
  /** 1 to 4: a colour of the style sheet. */
  readonly color: number;
  readonly dashed?: boolean;
}

export interface ChartProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly atMs: readonly number[];
  /** How much of the past is shown. */
  readonly spanMs: number;
  readonly format: (value: number) => string;
  /** Latencies: from microseconds to seconds on one axis. */
  readonly logarithmic?: boolean;
  /** The axis goes at least that far, so that noise does not look like a wave. */
  readonly atLeast?: number;
  /** Its axis is marked at powers of two. */
  readonly binary?: boolean;
}

const POWERS_OF_TWO = Array.from({ length: 51 }, (_, power) => 2 ** power);

const HEIGHT_PX = 116;

export function Chart(props: ChartProps) {
  const { title, lines, atMs, spanMs, format } = props;
  const place = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLDListElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const dark = useDark();

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const made = new uPlot(optionsOf(element, latest, legend), dataOf(latest.current), element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
    // Colours are read from the style sheet when it is made.
  }, [dark]);

  useEffect(() => {
    plot.current?.setData(dataOf(latest.current));
  }, [atMs, spanMs]);

  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <dl ref={legend}>
          {lines.map(({ label, values, color, dashed }) => (
            <div key={label} class={`series s${color}${dashed ? " dashed" : ""}`}>
              <dt>{label}</dt>
              <dd>{textOf(newest(values), format)}</dd>
            </div>
          ))}
        </dl>
      </figcaption>
      <div ref={place} class="plot" role="img" aria-label={`${title} over the last ${spanMs / 60_000} minutes`} />
    </figure>
  );
}

/** Of the last few seconds: in a second in which nothing came there is no latency. */
const newest = (values: Values): number | null => values.slice(-5).findLast((value) => value !== null) ?? null;
const textOf = (value: number | null | undefined, format: (value: number) => string): string =>
  value === null || value === undefined ? NOTHING : format(value);

function dataOf({ atMs, lines, logarithmic }: ChartProps): uPlot.AlignedData {
  // A logarithm of zero has no place.
  const drawn = (values: Values): (number | null)[] =>
    values.map((value) => (logarithmic && value !== null && value <= 0 ? null : value));
  return [atMs.map((ms) => ms / 1000), ...lines.map(({ values }) => drawn(values))];
}

/** What lies alone between gaps would be a line without length: a point instead. */
function alone(self: uPlot, series: number): number[] {
  const values = self.data[series] ?? [];
  const there = (at: number): boolean => values[at] !== null && values[at] !== undefined;
  return Array.from(values.keys()).filter((at) => there(at) && !there(at - 1) && !there(at + 1));
}

function optionsOf(
  element: HTMLElement,
  latest: { readonly current: ChartProps },
  legend: { readonly current: HTMLElement | null },
): uPlot.Options {
  const css = getComputedStyle(element);
  const color = (name: string): string => css.getPropertyValue(name).trim();
  const { lines, format, logarithmic = false, binary = false } = latest.current;
  const axis = {
    stroke: color("--quiet"),
    font: `11px ${css.fontFamily}`,
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, sync: { key: "millrace" }, points: { size: 6 }, y: false },
    scales: {
      x: {
        time: true,
        range: () => {
          const end = (latest.current.atMs.at(-1) ?? Date.now()) / 1000;
          return [end - latest.current.spanMs / 1000, end];
        },
      },
      y: logarithmic
        ? { distr: 3, range: (_, min, max) => decades(min, max) }
        : { range: (_, __, max) => [0, Math.max((max ?? 0) * 1.1, latest.current.atLeast ?? 1)] },
    },
    axes: [
      {
        ...axis,
        values: (_, splits) => splits.map((at) => clock(at * 1000).slice(0, 5)),
        space: 70,
        size: 24,
        incrs: [60, 120, 300],
      },
      {
        ...axis,
        size: 62,
        space: 26,
        ...(binary ? { incrs: POWERS_OF_TWO } : {}),
        // uPlot would draw a line for each of 1 to 9 of a decade, and leave out labels as it sees fit.
        filter: (_, splits) => splits,
        ...(logarithmic ? { splits: (_: uPlot, __: number, min: number, max: number) => powersOfTen(min, max) } : {}),
        values: (_, splits) => splits.map(format),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, color: which, dashed }) => ({
        label,
        stroke: color(`--series-${which}`),
        width: 1.5,
        dash: dashed ? [4, 3] : [],
        points: { show: true, size: 3, fill: color(`--series-${which}`), filter: alone },
      })),
    ],
    hooks: {
      setCursor: [
        ({ cursor: { idx } }) => {
          const values = legend.current?.querySelectorAll("dd") ?? [];
          latest.current.lines.forEach(({ values: column }, at) => {
            const value = idx === null || idx === undefined ? newest(column) : column[idx];
            const cell = values[at];
            // The text itself: Preact goes on writing to the node that it made.
            if (cell?.firstChild) cell.firstChild.nodeValue = textOf(value, format);
          });
        },
      ],
    },
  };
}

/** Whole powers of ten around what there is. */
function decades(min: number | null, max: number | null): [number, number] {
  if (min === null || max === null || !(min > 0)) return [0.1, 10];
  const low = Math.floor(Math.log10(min));
  return [10 ** low, 10 ** Math.max(low + 1, Math.ceil(Math.log10(max)))];
}

/** Not more than four of them are marked. */
function powersOfTen(min: number, max: number): number[] {
  const low = Math.round(Math.log10(min));
  const high = Math.round(Math.log10(max));
  const step = Math.ceil((high - low) / 3);
  const marked: number[] = [];
  for (let power = low; power <= high; power += step) marked.push(10 ** power);
  return marked;
}
