// The figures as a page of Markdown, generated and never edited: beside each number its spread, its sample, its flush mode and the ratio to
// the floor of the same rounds; above all of them the machine; below each table the commands.

import { type Environment, LOCAL_CHANGES } from "./environment.js";
import { type CaseResult, costs, detailText, type SideResult, shortNumber } from "./figures.js";
import { type GoalResult, goalRows, goalsOf } from "./goals.js";
import { improvements, PROFILES, PROFILES_MORE } from "./profiles.js";

/** Where a section comes from that was not measured in the run at the top of its page. */
export interface RunMark {
  readonly date: string;
  readonly commit: string;
  readonly command: string;
  readonly load: string;
}

export interface SectionResult {
  readonly name: string;
  readonly title: string;
  /** What is measured, and what is not. */
  readonly about: string;
  readonly cases: readonly CaseResult[];
  readonly run?: RunMark;
}

export interface RunResult {
  readonly environment: Environment;
  readonly quick: boolean;
  readonly full?: boolean;
  readonly command: string;
  /** Names of the questions that it is about, also of those that it did not come to. Undefined: those of its sections. */
  readonly asked?: readonly string[];
  /** How fast fresh memory could be had, in GB/s: cold (not used for a while) and again at once. */
  readonly freshMemory: { readonly cold: number; readonly warm: number };
  readonly sections: readonly SectionResult[];
}

/** The column in which a sample says how many cores were in use by others. */
export const OTHERS = "other cores";
/** More than this and the figures say as much about the others. */
const OTHERS_MAX = 0.25;

const othersOf = ({ details }: SideResult): number => details[OTHERS] ?? 0;

/** Pictures of a section: where they are and what they show. */
export type PictureLinks = (section: SectionResult) => readonly { readonly path: string; readonly title: string }[];

export function markdown(result: RunResult, links: PictureLinks = () => []): string {
  return [
    head(result),
    ...goalsTable(goalsOf(result.sections, result.asked)),
    ...profilesTable(),
    ...result.sections.map((each) => section(each, result, links(each))),
  ].join("\n");
}

/** The facts above all figures, by name. */
export function factsOf({ environment: e, command, freshMemory }: RunResult): [string, string][] {
  return [
    ["when", `${e.date} UTC, commit ${e.commit}`],
    ["machine", `${e.cpu}, ${e.cores} cores, ${e.memoryGiB} GiB of memory`],
    ["system", `Linux ${e.kernel}, ${e.fileSystem} (${e.mountOptions})`],
    ["versions", `Node ${e.node}, V8 ${e.v8}, ${e.compiler}`],
    ["TCP", `congestion control of the system: ${e.congestionControl}`],
    [
      "fresh memory",
      `${shortNumber(freshMemory.cold)} GB/s when it was not used for a while, ${shortNumber(freshMemory.warm)} GB/s again at once` +
        `${e.freePageReporting ? "; a guest that gives free pages back to its host" : ""}`,
    ],
    ["load before", e.load],
    ["scheduling", e.scheduling],
    ["made by", `\`${command}\``],
  ];
}

export function intro({ environment, quick }: Pick<RunResult, "environment" | "quick">): string {
  return (
    "What millrace does on one machine, each figure beside its floor: the same work in plain C++ without a broker, out of the same run. Sides " +
    "ran in turn; ratios are taken pair by pair between neighbours; a value is the median of its samples, with the lowest and the highest " +
    "behind it. Absolute figures are worth something on this machine only; ratios travel better. Client and server share its " +
    `${environment.cores} cores.${quick ? " **A quick run: few and short samples.**" : ""}`
  );
}

/** What must be said above all when others used the machine meanwhile. */
export function doubtful({ environment, sections }: RunResult): string | undefined {
  const others = Math.max(0, ...sections.flatMap(({ cases }) => cases.flatMap(({ sides }) => sides.map(othersOf))));
  if (others <= OTHERS_MAX) return undefined;
  return `**Doubtful:** other programs used up to ${others.toFixed(1)} of the ${environment.cores} cores meanwhile (column *${OTHERS}*).`;
}

/** What must be said above all when what ran is in no commit. */
export function unrepeatable({
  environment,
  sections,
}: Pick<RunResult, "environment" | "sections">): string | undefined {
  const commits = [environment.commit, ...sections.flatMap(({ run }) => run?.commit ?? [])];
  const changed = [...new Set(commits)].filter((commit) => commit.includes(LOCAL_CHANGES));
  if (changed.length === 0) return undefined;
  return `**Cannot be repeated:** measured at commit ${changed.join(", at ")}, so what ran is in no commit.`;
}

/** Said of a section out of another run than the page's. */
export function runOf({ run }: SectionResult, { environment }: RunResult): string | undefined {
  if (run === undefined || (run.date === environment.date && run.commit === environment.commit)) return undefined;
  return `Out of a run of its own: ${run.date} UTC, commit ${run.commit}, load before ${run.load}, \`${run.command}\`.`;
}

function head(result: RunResult): string {
  const warnings = [unrepeatable(result), doubtful(result)].flatMap((warning) => warning ?? []);
  return [
    "<!-- Generated by `npm run bench`. Do not edit: run it again. -->",
    "",
    "# Figures",
    "",
    `${intro(result)} How to repeat and read them: [benchmarks.md](benchmarks.md); charts that show their values: [figures.html](figures.html).`,
    "",
    ...warnings.flatMap((warning) => [warning, ""]),
    "| | |",
    "|---|---|",
    ...factsOf(result).map(([name, fact]) => `| ${name} | ${fact} |`),
    "",
  ].join("\n");
}

export const GOALS =
  "What was asked of these figures before there were any, and what came of it: by medians, with the lowest and the highest. One that is missed says why, shortly.";
const GOALS_MORE =
  "[decisions.md](decisions.md) has the measurements; what is asked beside others stands in [peers.md](peers.md).";

function goalsTable(goals: readonly GoalResult[]): string[] {
  if (goals.length === 0) return [];
  return ["## Goals", "", `${GOALS} ${GOALS_MORE}`, "", ...goalRows(goals), ""];
}

function profilesTable(): string[] {
  const rows = improvements.map(
    ({ path, cost, before, after, measured }) => `| ${path} | ${cost} | ${before} | ${after} | ${measured} |`,
  );
  const head = ["| path | what it was | before | after | measured |", "|---|---|---|---|---|"];
  return ["## Before and after", "", `${PROFILES} ${PROFILES_MORE}`, "", ...head, ...rows, ""];
}

function section(result: SectionResult, run: RunResult, pictures: ReturnType<PictureLinks>): string {
  const { title, about, cases } = result;
  const own = runOf(result, run);
  const details = [...new Set(cases.flatMap(({ sides }) => sides.flatMap((side) => Object.keys(side.details))))];
  const units = new Set(cases.map(({ unit }) => unit));
  const columns = ["case", "flush", "side", [...units].join(" or "), "spread", "to the floor", ...details, "sample"];
  const rows = cases.flatMap((one) => one.sides.map((side, index) => row(one, side, index, details)));
  const commands = [...new Set(cases.flatMap(({ sides }) => sides.map(({ command }) => command)))];
  return [
    `## ${title}`,
    "",
    about,
    "",
    ...(own === undefined ? [] : [own, ""]),
    ...pictures.flatMap(({ path, title: what }) => [`![${what}](${path})`, ""]),
    `| ${columns.join(" | ")} |`,
    `|${columns.map((_, index) => (index < 3 ? "---" : "--:")).join("|")}|`,
    ...rows,
    "",
    ...(cases.some(({ unit }) => costs.has(unit))
      ? ["Here less is better: a ratio above 1 is the cost over the floor.", ""]
      : []),
    "<details><summary>commands</summary>",
    "",
    "```",
    ...commands,
    "```",
    "",
    "</details>",
    "",
  ].join("\n");
}

function row(one: CaseResult, side: SideResult, index: number, details: readonly string[]): string {
  const { value, ratio } = side;
  const cells = [
    index === 0 ? one.label : "",
    index === 0 ? one.flush : "",
    side.name,
    shortNumber(value.median),
    `${shortNumber(value.min)} – ${shortNumber(value.max)}`,
    ratio === undefined ? "" : `**${ratio.median.toFixed(2)}** (${ratio.min.toFixed(2)} – ${ratio.max.toFixed(2)})`,
    ...details.map((name) => detailText(one, side, name) ?? ""),
    `${value.samples} × ${one.sample}`,
  ];
  return `| ${cells.join(" | ")} |`;
}
