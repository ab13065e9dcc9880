// The command line of the ladder.

import { parseArgs } from "node:util";
import { freshSeed } from "./random.js";
import type { Part, Rung } from "./rung.js";

export interface Asked {
  readonly rungs: readonly Rung[];
  readonly seed: number;
  readonly rounds?: number;
  readonly seconds?: number;
  readonly part?: Part;
  readonly only?: string;
  readonly ci: boolean;
  readonly list: boolean;
  readonly help: boolean;
  readonly report: boolean;
  /** Another checkout whose build is broken instead of this one's. */
  readonly product?: string;
  readonly directory?: string;
}

export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function usage(all: readonly Rung[]): string {
  return [
    "npm run faults -- [RUNG…] [--seed N] [--rounds N] [--seconds N] [--part I/N] [--only REGEX] [--list] [--report] [--ci]",
    "",
    "  --seed N      replays the choices of another run",
    "  --rounds N    so many rounds of each rung; else as many as fit into continuous integration",
    "  --seconds N   so many seconds of each rung",
    "  --part I/N    of the cases of `format-sweep` only part I of N, so that N processes can share them",
    "  --only REGEX  of `mutation` those safeguards alone whose names fit, of `syscalls` those cases",
    "  --list        names the rungs, and why one cannot run here",
    "  --report      writes docs/trust.md from the runs that were kept; with rungs: runs them first",
    "  --ci          all rungs, each ended when it hangs",
    "  --product DIR breaks the build of another checkout",
    "  --dir DIR     where data is written (.cache/faults/data); not in memory",
    "",
    ...all.map(({ name, title }) => `  ${name.padEnd(14)} ${title}`),
  ].join("\n");
}

function wholeNumber(flag: string, text: string | undefined, from: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < from) throw new UsageError(`--${flag}: ${text}`);
  return value;
}

function part(text: string | undefined): Part | undefined {
  if (text === undefined) return undefined;
  const [, index, count] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  if (!(index >= 1 && index <= count)) throw new UsageError(`--part: ${text}`);
  return { index, count };
}

function checkOnly(text: string, rungs: readonly Rung[]): void {
  let only: RegExp;
  try {
    only = new RegExp(text);
  } catch (error) {
    throw new UsageError(`--only: ${(error as Error).message}`);
  }
  for (const { name, only: choice } of rungs) {
    if (choice === undefined) throw new UsageError(`--only: ${name} has nothing to choose from by name`);
    if (choice.names?.some((each) => only.test(each)) === false) {
      throw new UsageError(`--only: no ${choice.what} of ${name} has a name that fits ${text}`);
    }
  }
}

/** Throws {@link UsageError}. */
export function parseArguments(argv: readonly string[], all: readonly Rung[]): Asked {
  const { values, positionals } = parse(argv);
  const unknown = positionals.filter((name) => !all.some((rung) => rung.name === name));
  if (unknown.length > 0) throw new UsageError(`there is no rung ${unknown.join(", ")}`);
  const { ci, list, help, report } = values;
  if (ci && positionals.length > 0) throw new UsageError("--ci runs all rungs");
  const named = all.filter(({ name }) => positionals.includes(name));
  const rungs = named.length > 0 ? named : report && !ci ? [] : all;
  if (values.only !== undefined) checkOnly(values.only, rungs);
  const whole = rungs.find(({ parts }) => parts !== true);
  if (values.part !== undefined && whole !== undefined) throw new UsageError(`--part: ${whole.name} has no parts`);
  return {
    rungs,
    seed: wholeNumber("seed", values.seed, 0) ?? freshSeed(),
    rounds: wholeNumber("rounds", values.rounds, 1),
    seconds: wholeNumber("seconds", values.seconds, 1),
    part: part(values.part),
    only: values.only,
    ci,
    list,
    help,
    report,
    product: values.product,
    directory: values.dir,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        seed: { type: "string" },
        rounds: { type: "string" },
        seconds: { type: "string" },
        part: { type: "string" },
        only: { type: "string" },
        product: { type: "string" },
        dir: { type: "string" },
        list: { type: "boolean", default: false },
        report: { type: "boolean", default: false },
        ci: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
