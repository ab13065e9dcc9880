// Results for the tests of report and check, small and known.

import type { CaseResult, Sample } from "../../bench/lib/figures.js";
import { measureCase } from "../../bench/lib/figures.js";
import type { RunResult, SectionResult } from "../../bench/lib/report.js";
import type { Latency } from "../../bench/lib/tools.js";

export const latency = (scale: number): Latency => ({
  count: 1000,
  meanUs: 12 * scale,
  minUs: scale,
  p50Us: 10 * scale,
  p90Us: 20 * scale,
  p99Us: 50 * scale,
  p999Us: 90 * scale,
  p9999Us: 100 * scale,
  maxUs: 200 * scale,
});

export interface SideOf {
  readonly name: string;
  readonly values: readonly number[];
  readonly more?: Omit<Sample, "value" | "details">;
}

/** Measured as a real case is, from values that are given. */
export function caseOf(label: string, unit: CaseResult["unit"], sides: readonly SideOf[]): Promise<CaseResult> {
  const each = sides.map(({ name, values, more }) => {
    let next = 0;
    const measure = async (): Promise<Sample> => ({ value: values[next++] as number, details: {}, ...more });
    return { name, command: `run ${name} & wait`, measure };
  });
  return measureCase({ label, flush: "WRITTEN", unit, sample: "1 s", sides: each }, sides[0]?.values.length ?? 1);
}

export const runOf = (sections: readonly SectionResult[], commit = "abc", date = "2025-01-01 00:00"): RunResult => ({
  environment: {
    date,
    cpu: "a processor",
    cores: 2,
    memoryGiB: 23,
    kernel: "6.1",
    fileSystem: "ext4",
    mountOptions: "rw",
    node: "20.0.0",
    v8: "11",
    compiler: "g++ 12",
    commit,
    load: "0 0 0",
    scheduling: "normal",
    congestionControl: "cubic",
    freePageReporting: false,
  },
  quick: false,
  command: `npm run bench -- from-${commit}`,
  freshMemory: { cold: 0.5, warm: 5 },
  sections,
});
