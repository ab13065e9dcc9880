// What a rung of the ladder is: something that tries to break the product in one way, and an oracle that says whether it did.

export interface Rung {
  /** As on the command line, and as its folder in rungs/. */
  readonly name: string;
  readonly title: string;
  /** Markdown for docs/trust.md: what is done, and what the oracle demands. */
  readonly about: string;
  /** Why it cannot run here (root, a tool, a kernel), or undefined. */
  readonly unfit: () => Promise<string | undefined>;
  readonly run: (stage: Stage) => Promise<RungResult>;
  /** Counts that its row on the page has, beside those of its section. Undefined: all. */
  readonly headline?: readonly string[];
  /** A run in which this was counted never has compared nothing: it is skipped, and did not pass. */
  readonly proves?: string;
  /** Takes --part. */
  readonly parts?: true;
  /** Takes --only, which chooses among these. */
  readonly only?: Choice;
  /** For the page, out of all runs, oldest first, instead of the last one's notes. The first line is its row's, too. */
  readonly notesOf?: (runs: readonly Pick<RungResult, "notes">[]) => string[];
}

export interface Choice {
  /** What each of them is. */
  readonly what: string;
  /** Undefined: they are known only when it runs. */
  readonly names?: readonly string[];
}

/** `index` of `count`, from 1. */
export interface Part {
  readonly index: number;
  readonly count: number;
}

export interface Stage {
  /** Every random choice derives from it. */
  readonly seed: number;
  /** From --rounds; undefined: the rung's own number, which fits into continuous integration. */
  readonly rounds?: number;
  /** From --seconds. */
  readonly seconds?: number;
  /** From --part, for rungs that can share their cases. */
  readonly part?: Part;
  /** From --only, for rungs whose cases have names. */
  readonly only?: string;
  /** Its own and new, on a real disk; removed when all went well. */
  readonly directory: string;
  /** The checkout that this ladder is of. */
  readonly root: string;
  readonly product: Product;
  readonly progress: (text: string) => void;
}

/** What is put to the test: a checkout's build, or another one that somebody broke on purpose. */
export interface Product {
  /** Holds broker.js, cli.js, index.js, client.js. They load the addon that lies in build/Release beside it. */
  readonly dist: string;
  readonly addon: string;
}

export interface Failure {
  readonly what: string;
  /** A command that shows it again. */
  readonly replay: string;
  /** Not the product's but of what it was put to the test on, as a disk that is full: no word about it. */
  readonly ofStand?: true;
}

export interface Skipped {
  readonly what: string;
  readonly why: string;
}

export interface RungResult {
  /** What was tried: cuts, kills, cases, records acknowledged, records read. */
  readonly counts: Readonly<Record<string, number>>;
  /** Records that were acknowledged and are gone: must be 0. */
  readonly losses: number;
  readonly failures: readonly Failure[];
  readonly skipped: readonly Skipped[];
  /** Lines of Markdown for docs/trust.md that counts cannot say: which mutants were noticed, on which file systems it was cut. */
  readonly notes?: readonly string[];
}

type Choices = Pick<Stage, "seed" | "rounds" | "seconds" | "part" | "only">;

/** The command that runs a rung again with the same choices. */
export function replayOf(rung: string, { seed, rounds, seconds, part, only }: Choices): string {
  const flags = [
    `--seed ${seed}`,
    ...(rounds === undefined ? [] : [`--rounds ${rounds}`]),
    ...(seconds === undefined ? [] : [`--seconds ${seconds}`]),
    ...(part === undefined ? [] : [`--part ${part.index}/${part.count}`]),
    ...(only === undefined ? [] : [`--only '${only.replaceAll("'", "'\\''")}'`]),
  ];
  return `npm run faults -- ${rung} ${flags.join(" ")}`;
}
