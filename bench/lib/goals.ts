// What was promised before it was measured, each goal held against the figures of a run: met, missed with the reason, or not measured.
// The figures are the run's own; it must not know how they came to be.

import { pairRatios, type Spread, spread } from "./compare.js";
import { type CaseResult, caseName, type SideResult, shortNumber } from "./figures.js";
import type { SectionResult } from "./report.js";

export interface Goal {
  readonly question: string;
  /** As `caseName` has it. */
  readonly of: string;
  readonly side: string;
  readonly what: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly unit?: string;
  /** Undefined: the run does not say. */
  readonly read: (one: CaseResult, side: SideResult, section: Answered) => Spread | undefined;
  /** Why it is missed where it is missed: a measured reason, in docs/decisions.md at length. */
  readonly reason?: string;
}

export interface GoalResult {
  readonly what: string;
  readonly asked: string;
  /** Empty where it was not measured. */
  readonly is: string;
  readonly verdict: "met" | "missed" | "not measured";
  readonly reason?: string;
}

/** As much of a section as a goal is read from. */
export type Answered = Pick<SectionResult, "name" | "cases">;

const ratio = (_: CaseResult, side: SideResult): Spread | undefined => side.ratio;
const value = (_: CaseResult, side: SideResult): Spread => side.value;

const valuesOf = ({ samples }: SideResult): number[] => samples.map((sample) => sample.value);

function detail(name: string) {
  return (_: CaseResult, { samples }: SideResult): Spread | undefined => {
    const all = samples.flatMap(({ details }) => details[name] ?? []);
    return all.length === 0 ? undefined : spread(all);
  };
}

/** Of what both spent, pair by pair. */
function detailRatio(name: string) {
  return ({ sides }: CaseResult, side: SideResult): Spread | undefined => {
    const [own, base] = [side, sides[sides.length - 1]].map(({ samples }) =>
      samples.flatMap(({ details }) => details[name] ?? []),
    );
    return own.length === 0 || own.length !== base.length ? undefined : spread(pairRatios(own, base));
  };
}

/** To another side than the last one. */
function ratioTo(other: string) {
  return ({ sides }: CaseResult, side: SideResult): Spread | undefined => {
    const base = sides.find(({ name }) => name === other);
    return base === undefined ? undefined : spread(pairRatios(valuesOf(side), valuesOf(base)));
  };
}

const beyondTheLast = ({ sides }: CaseResult, side: SideResult): Spread => {
  const base = valuesOf(sides[sides.length - 1]);
  return spread(valuesOf(side).map((own, round) => own - base[round]));
};

function toCase(other: string) {
  return (_: CaseResult, side: SideResult, { cases }: Answered): Spread | undefined => {
    const base = cases.find((one) => caseName(one) === other)?.sides.find(({ name }) => name === side.name);
    return base === undefined ? undefined : spread(pairRatios(valuesOf(side), valuesOf(base)));
  };
}

const CALLS = "a call into the addon costs as much as the copy; the broker makes one for each turn";
const TWO_CORES = "generator and server share two cores, and the threads that make pages take a third of one";

export const goals: readonly Goal[] = [
  ...[64, 1].flatMap((batches): Goal[] => {
    const side = batches === 1 ? "addon, a call each" : "addon, a call for 64";
    const how = batches === 1 ? "a call for each batch" : "64 batches a call, as in a turn of the broker";
    return [
      {
        question: "append",
        of: "MAPPED, prepared pages, 100 × 128 B, crc32c",
        side,
        what: `MAPPED append of 100 × 128 B on prepared pages, ${how}, to the floor`,
        atLeast: 0.7,
        read: ratio,
        reason: CALLS,
      },
      {
        question: "append",
        of: "FILE_CHANNEL, 100 × 128 B, crc32c",
        side,
        what: `FILE_CHANNEL append of 100 × 128 B, ${how}, to the floor`,
        atLeast: 0.8,
        read: ratio,
        reason: CALLS,
      },
    ];
  }),
  {
    question: "produce-pipelined",
    of: "MAPPED, crc32c, short, WRITTEN",
    side: "millrace",
    what: "PRODUCE, one connection, 256 × 10 × 128 B in flight, MAPPED, to the floor",
    atLeast: 0.6,
    read: ratio,
    reason: TWO_CORES,
  },
  {
    question: "produce-connections",
    of: "MAPPED, crc32c, 1 × 128 B, WRITTEN",
    side: "millrace",
    what: "PRODUCE, 64 connections that wait for each answer, to the floor",
    atLeast: 0.8,
    read: ratio,
    reason: "a turn is short there, and Node's own part of it, an eighth of its time, is shared by few requests",
  },
  {
    question: "fetch",
    of: "one connection, 8 in flight",
    side: "millrace, sendfile",
    what: "FETCH of 64 KiB, throughput to the floor",
    atLeast: 0.9,
    read: ratio,
    reason: "it asks the cache before it sends, and finds the record by a read: the floor knows where it lies",
  },
  {
    question: "fetch",
    of: "one connection, 8 in flight",
    side: "millrace, sendfile",
    what: "FETCH of 64 KiB, processor time for each GiB to the floor",
    atMost: 1.25,
    read: detailRatio("server CPU s/GiB"),
    reason: "as above",
  },
  {
    question: "latency",
    of: "PRODUCE, MAPPED, 50 % of the ceiling, p99, FORCED",
    side: "millrace",
    what: "FORCED at half of the ceiling, p99 to that of a bare fdatasync",
    atMost: 3,
    read: ratio,
    reason:
      "a request waits for the barrier before its own, as the floor's do; and two cores are full with the generator",
  },
  {
    question: "recovery",
    of: "crc32c, records of 1024 B",
    side: "addon",
    what: "recovery scan, records of 1 KiB, from the page cache",
    atLeast: 3,
    unit: "GiB/s",
    read: value,
  },
  {
    question: "start",
    of: "after a clean stop, 1000 segments",
    side: "millrace",
    what: "start after a clean stop, 1000 sealed segments to 10",
    atMost: 2,
    read: toCase("after a clean stop, 10 segments"),
  },
  {
    question: "start",
    of: "empty data directory",
    side: "millrace",
    what: "start to the ready line, beyond Node's own",
    atMost: 300,
    unit: "ms",
    read: beyondTheLast,
  },
  ...["MAPPED", "FILE_CHANNEL"].map(
    (mode): Goal => ({
      question: "sustained",
      of: `${mode}, as fast as it goes, WRITTEN`,
      side: "millrace",
      what: `sustained writing, ${mode}, worst second to the median`,
      atLeast: 0.7,
      read: detail("worst to median"),
      reason: "the disk: the floor's worst second is as low, and the machine's waiting for the disk stands beside both",
    }),
  ),
  ...["64 connections, 1 × 128 B, WRITTEN", "1 connection, 256 in flight, 1 × 128 B, WRITTEN"].map(
    (of): Goal => ({
      question: "metrics-cost",
      of,
      side: "scraped each second",
      what: `throughput left with metrics, ${of.replace(", WRITTEN", "")}`,
      atLeast: 0.98,
      read: ratio,
      reason: "samples of a second differ by more than the two hundredths that are asked for",
    }),
  ),
  {
    question: "cold-reader",
    of: "64 producers, one request each in flight, WRITTEN",
    side: "beside a reader of the disk, 100 MiB/s",
    what: "PRODUCE p99 beside a reader of cold data, to without",
    atMost: 1.5,
    read: ratio,
    reason: "its samples spread by more than the half that is asked for, and lie on both sides of it from run to run",
  },
  {
    question: "client-consumer",
    of: "1024 bytes, crc32c",
    side: "replay(), batches",
    what: "a consumer of 1 KiB records, to a socket of Node that takes the same bytes into memory that may be kept",
    atLeast: 0.7,
    read: ratioTo("socket of Node, fresh memory"),
  },
  {
    question: "client-consumer",
    of: "1024 bytes, crc32c",
    side: "replay(), batches",
    what: "the same, to a C++ program that looks at nothing",
    atLeast: 0.7,
    read: ratio,
    reason: "a socket of Node that drops the bytes has 0.7 of it, which leaves nothing for the records",
  },
];

/**
 * In the order of the goals: all of the questions that were `asked`, and no others. One without a figure is there as not measured: a
 * goal that is left out looks like one that nobody ever had.
 */
export function goalsOf(
  sections: readonly Answered[],
  asked: readonly string[] = sections.map(({ name }) => name),
  all: readonly Goal[] = goals,
): GoalResult[] {
  const there = all.filter(
    ({ question }) => asked.includes(question) || sections.some(({ name }) => name === question),
  );
  return there.map((goal) => judged(goal, figureOf(goal, sections)));
}

function figureOf(goal: Goal, sections: readonly Answered[]): Spread | undefined {
  const section = sections.find(({ name }) => name === goal.question);
  const one = section?.cases.find((each) => caseName(each) === goal.of);
  const side = one?.sides.find(({ name }) => name === goal.side);
  return section === undefined || one === undefined || side === undefined ? undefined : goal.read(one, side, section);
}

function judged({ what, atLeast, atMost, unit, reason }: Goal, is: Spread | undefined): GoalResult {
  const suffix = unit === undefined ? "" : ` ${unit}`;
  const asked = atLeast === undefined ? `at most ${atMost}${suffix}` : `at least ${atLeast}${suffix}`;
  if (is === undefined) return { what, asked, is: "", verdict: "not measured" };
  const met = (atLeast === undefined || is.median >= atLeast) && (atMost === undefined || is.median <= atMost);
  const shown = `${shortNumber(is.median)}${suffix} (${shortNumber(is.min)} – ${shortNumber(is.max)})`;
  return { what, asked, is: shown, verdict: met ? "met" : "missed", reason: met ? undefined : reason };
}

/** In the Markdown of questions' texts. */
export function verdictText({ verdict, reason }: GoalResult): string {
  switch (verdict) {
    case "met":
      return "met";
    case "missed":
      return `**missed**${reason === undefined ? "" : `: ${reason}`}`;
    case "not measured":
      return "**not measured** in this run";
  }
}

/** As a table of Markdown. */
export const goalRows = (of: readonly GoalResult[]): string[] => [
  "| goal | asked | is | |",
  "|---|---|--:|---|",
  ...of.map((goal) => `| ${goal.what} | ${goal.asked} | ${goal.is} | ${verdictText(goal)} |`),
];
