// Which pictures a section of the report has.

import type { SectionResult } from "../lib/report.js";
import { chartsOf } from "./charts.js";
import { barsSvg, percentilesSvg, timesSvg } from "./svg.js";

export interface Picture {
  readonly kind: "bars" | "latency" | "time";
  readonly title: string;
  readonly svg: string;
}

export function picturesOf(section: SectionResult): Picture[] {
  const { bars, percentiles, times } = chartsOf(section);
  const { title } = section;
  const made: Picture[] = [];
  if (bars.length > 0) made.push({ kind: "bars", title, svg: barsSvg(bars, title) });
  if (percentiles.length > 0) {
    const name = `${title}: latency`;
    made.push({ kind: "latency", title: name, svg: percentilesSvg(percentiles, name) });
  }
  if (times.length > 0) {
    const name = `${title}: over time, ${[...new Set(times.map(({ drawn }) => drawn))].join(" or ")}`;
    made.push({ kind: "time", title: name, svg: timesSvg(times, name) });
  }
  return made;
}
