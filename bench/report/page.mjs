// Runs in the page of figures: draws percentiles and the course of time with uPlot, from the numbers that the page carries. The legend
// shows the values under the cursor.

import uPlot from "uplot";

const { columns, colors, sections } = JSON.parse(document.getElementById("charts").textContent);
const HEIGHT = { percentiles: 190, times: 210 };

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const seriesColor = (series) => color(series === 0 ? "--s0" : `--s${((series - 1) % (colors - 1)) + 1}`);

/** Three figures that count; the report's numbers are written the same way. */
function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Math.abs(value) < 1000) return String(Number(value.toPrecision(3)));
  const step = 10 ** Math.max(0, Math.floor(Math.log10(Math.abs(value))) - 2);
  return String(Math.round(value / step) * step).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}
const duration = (us) =>
  us >= 1e6 ? `${short(us / 1e6)} s` : us >= 1000 ? `${short(us / 1000)} ms` : `${short(us)} µs`;

/** Powers of ten, as far as uPlot's ticks are exact. */
const wholePower = (us) => Number.isInteger(Math.round(Math.log10(us) * 1e6) / 1e6);

/** An axis in the page's colours; `more` is uPlot's. */
const axis = (more) => ({
  stroke: color("--quiet"),
  grid: { stroke: color("--line"), width: 1 },
  ticks: { show: false },
  font: "11px system-ui, sans-serif",
  ...more,
});

function legendOf(figure, { label, curves }, textOf) {
  const caption = document.createElement("figcaption");
  caption.append(Object.assign(document.createElement("b"), { textContent: label }));
  const places = curves.map(({ name, series }) => {
    const place = document.createElement("span");
    const dot = document.createElement("i");
    dot.style.background = seriesColor(series);
    const value = document.createElement("em");
    place.append(dot, `${name} `, value);
    caption.append(place);
    return value;
  });
  figure.append(caption);
  return (index) => {
    curves.forEach((curve, at) => {
      places[at].textContent = textOf(curve, index);
    });
  };
}

const shared = (figure, kind, show) => ({
  width: figure.clientWidth,
  height: HEIGHT[kind],
  legend: { show: false },
  cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
  hooks: { setCursor: [({ cursor }) => show(cursor.idx ?? undefined)] },
});

function drawPercentiles(figure, chart) {
  const show = legendOf(
    figure,
    chart,
    ({ values }, index) =>
      duration(values[index ?? columns.indexOf("p99")]) + (index === undefined ? " p99" : ` ${columns[index]}`),
  );
  const options = {
    ...shared(figure, "percentiles", show),
    scales: { x: { time: false, range: [-0.3, columns.length - 0.7] }, y: { distr: 3 } },
    axes: [
      axis({ size: 28, splits: columns.map((_, at) => at), values: () => columns, grid: { show: false } }),
      axis({
        size: 58,
        grid: {
          stroke: color("--line"),
          width: 1,
          filter: (_, ticks) => ticks.map((us) => (wholePower(us) ? us : null)),
        },
        values: (_, ticks) => ticks.map((us) => (us !== null && wholePower(us) ? duration(us) : "")),
      }),
    ],
    series: [
      {},
      ...chart.curves.map(({ series }) => ({ stroke: seriesColor(series), width: 1.5, points: { size: 5 } })),
    ],
  };
  show(undefined);
  return new uPlot(options, [columns.map((_, at) => at), ...chart.curves.map(({ values }) => values)], figure);
}

/** A ring around the worst interval of each curve. */
const worstMarks = (chart) => ({
  hooks: {
    draw: [
      (plot) => {
        const { ctx } = plot;
        for (const { series, figures } of chart.curves) {
          const x = plot.valToPos((figures.worstAt * chart.intervalMs) / 1000, "x", true);
          const y = plot.valToPos(figures.worst, "y", true);
          ctx.strokeStyle = seriesColor(series);
          ctx.lineWidth = 2 * devicePixelRatio;
          ctx.beginPath();
          ctx.arc(x, y, 6 * devicePixelRatio, 0, 2 * Math.PI);
          ctx.stroke();
        }
      },
    ],
  },
});

function drawTimes(figure, chart) {
  const show = legendOf(
    figure,
    { ...chart, label: `${chart.label}, ${chart.unit}, ${chart.drawn}` },
    ({ values, figures }, index) =>
      index === undefined
        ? `median ${short(figures.median)}, worst ${short(figures.worst)} (${figures.steadiness.toFixed(2)} of it)`
        : short(values[index]),
  );
  const longest = Math.max(...chart.curves.map(({ values }) => values.length));
  const seconds = Array.from({ length: longest }, (_, at) => (at * chart.intervalMs) / 1000);
  const filled = chart.curves.map(({ values }) => seconds.map((_, at) => values[at] ?? null));
  const options = {
    ...shared(figure, "times", show),
    plugins: [worstMarks(chart)],
    scales: { x: { time: false }, y: { range: (_, __, max) => [0, max * 1.08 || 1] } },
    axes: [
      axis({ size: 28, values: (_, ticks) => ticks.map((tick) => `${short(tick)} s`) }),
      axis({ size: 72, values: (_, ticks) => ticks.map(short) }),
    ],
    series: [
      {},
      ...chart.curves.map(({ series }) => ({ stroke: seriesColor(series), width: 1.5, points: { show: false } })),
    ],
  };
  show(undefined);
  return new uPlot(options, [seconds, ...filled], figure);
}

const DRAW = { percentiles: drawPercentiles, times: drawTimes };
let plots = [];

function drawAll() {
  for (const { plot, figure } of plots) {
    plot.destroy();
    figure.replaceChildren();
  }
  plots = [...document.querySelectorAll("[data-chart]")].map((figure) => {
    const [section, kind, index] = figure.dataset.chart.split(" ");
    return { figure, kind, plot: DRAW[kind](figure, sections[section][kind][Number(index)]) };
  });
}

drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
addEventListener("resize", () => {
  for (const { plot, figure, kind } of plots) plot.setSize({ width: figure.clientWidth, height: HEIGHT[kind] });
});
