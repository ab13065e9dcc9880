// The rung `mutation`: takes the product's safeguards away one by one and demands that the ladder notices each. What nothing notices is either not
// needed or not tested, and the page says which.

import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Random } from "../../lib/random.js";
import { BROKE } from "../../lib/run-rung.js";
import { type Failure, type Rung, type RungResult, replayOf, type Skipped, type Stage } from "../../lib/rung.js";
import { Workshop } from "./build.js";
import { type Mutant, mutated } from "./mutant.js";
import { mutants } from "./mutants.js";
import { notesOf, notesOfAll } from "./notes.js";

/** For continuous integration; the mutants take turns there, by the seed. By hand `--rounds 1000` tries all. */
const SECONDS = 120;
/** A product without its safeguard may also stand still. */
const HANGS_MS = 300_000;

const STAND = new RegExp(`^(${BROKE}|Error: (umount|mount|mkfs|losetup)\\b)`);
/** Shows in seconds that a copy starts, takes records and has them. */
const CONTROL = { name: "nothing", rung: "kill", rounds: 8 };

const runProgram = promisify(execFile);

const about = `
Of a copy of the sources one safeguard is taken away (a barrier, the order in which things are published, a check of what was read, a bound), the copy is
built, and a rung of this ladder is run on it. The rung has to fail. A mutant that survives is a failure of the ladder, unless the list says which other
safeguard does the same work on the systems that are at hand; those are tried as well. Every edit must fit the sources exactly once, which \`npm test\` checks.
`.trim();

export interface Tried {
  readonly mutant: Mutant;
  /** What the rung said first, or undefined: nothing. */
  readonly noticed?: string;
  readonly seconds: number;
  /** The rung cannot run here. */
  readonly unfit?: string;
}

/** `rungs`: those that can notice something, by name. */
export function mutationRung(rungs: readonly Rung[]): Rung {
  return {
    name: "mutation",
    title: "safeguards taken away one by one, and whether the ladder notices",
    about,
    headline: ["mutants tried", "mutants noticed"],
    proves: "mutants tried",
    only: { what: "mutant", names: mutants.map(({ name }) => name) },
    notesOf: (runs) => notesOfAll(runs, mutants),
    unfit: () => Promise.resolve(undefined),
    run: (stage) => run(stage, rungs),
  };
}

async function run(stage: Stage, rungs: readonly Rung[]): Promise<RungResult> {
  for (const mutant of mutants) mutated(await readFile(join(stage.root, mutant.file), "utf8"), mutant);
  const some = chosen(stage);
  const bounded = stage.rounds === undefined && stage.only === undefined;
  const limited = bounded ? (stage.seconds ?? SECONDS) : Number.POSITIVE_INFINITY;
  const until = performance.now() + limited * 1000;
  const workshop = await Workshop.open(stage.root, stage.directory);
  const tried: Tried[] = [];
  const soundRungs = new Set<string>();
  try {
    for (const mutant of some) {
      // One at least: building takes as long as it takes.
      if (tried.length > 0 && performance.now() > until) break;
      const rung = rungs.find(({ name }) => name === mutant.rung);
      if (rung === undefined) throw new Error(`mutant "${mutant.name}": there is no rung ${mutant.rung}`);
      // By hand each rung is run on the whole copy before; in continuous integration they just ran, and that the copy starts is enough.
      const control = bounded ? rungs.find(({ name }) => name === CONTROL.rung) : rung;
      if (control !== undefined && !soundRungs.has(control.name)) {
        const what = bounded ? CONTROL : { ...mutant, name: `nothing, for ${rung.name}` };
        const whole = await tryOne(stage, what, control, workshop.copy);
        if (whole.noticed !== undefined)
          throw new Error(`${control.name} fails where nothing was taken away: ${whole.noticed}`);
        stage.progress(`nothing taken away: ${whole.unfit ?? "nothing noticed"} (${control.name}, ${whole.seconds} s)`);
        soundRungs.add(control.name);
      }
      const look = await workshop.with(mutant, () => tryOne(stage, mutant, rung, workshop.copy));
      const one: Tried = { mutant, ...look };
      stage.progress(`${mutant.name}: ${one.unfit ?? one.noticed?.slice(0, 120) ?? "NOT NOTICED"} (${one.seconds} s)`);
      tried.push(one);
    }
  } finally {
    await workshop.close();
  }
  return resultOf(stage, tried);
}

/** Where time is short, only those that something is to notice. */
export function chosen({ seed, rounds, seconds, only }: Stage): readonly Mutant[] {
  const all = new Random(seed).shuffled(mutants);
  if (only !== undefined) return all.filter(({ name }) => new RegExp(only).test(name));
  return rounds === undefined && seconds === undefined
    ? all.filter(({ covered }) => covered === undefined)
    : all.slice(0, rounds);
}

type Taken = Pick<Mutant, "name" | "rounds" | "seconds">;
type Look = Omit<Tried, "mutant">;

/** A stand that breaks says nothing of the product: it is tried once more, and then skipped. */
async function tryOne(stage: Stage, taken: Taken, rung: Rung, copy: string): Promise<Look> {
  const first = await tryOnce(stage, taken, rung, copy);
  if (!brokeDown(first)) return first;
  const second = await tryOnce(stage, taken, rung, copy);
  return brokeDown(second) ? { unfit: `the stand broke: ${second.noticed}`, seconds: second.seconds } : second;
}

const brokeDown = ({ noticed }: Look): boolean => noticed !== undefined && STAND.test(noticed);

/** In a process of its own, as a rung may load the product into its process, and the next mutant has the same path. */
async function tryOnce(stage: Stage, { rounds, seconds }: Taken, rung: Rung, copy: string): Promise<Look> {
  const began = performance.now();
  const unfit = await rung.unfit();
  if (unfit !== undefined) return { unfit, seconds: 0 };
  const directory = join(stage.directory, "tried");
  const flags = ["--product", copy, "--dir", directory, "--seed", String(stage.seed)];
  if (rounds !== undefined) flags.push("--rounds", String(rounds));
  if (seconds !== undefined) flags.push("--seconds", String(seconds));
  const main = JSON.stringify(join(stage.root, ".cache/faults/js/main.js"));
  const script = `const { runMain } = await import(${main}); await runMain(${JSON.stringify([stage.root, [rung.name, ...flags]]).slice(1, -1)});`;
  const noticed = await runProgram(process.execPath, ["--input-type=module", "-e", script], {
    maxBuffer: 1 << 26,
    timeout: HANGS_MS,
  }).then(() => undefined, verdictOf);
  await rm(directory, { recursive: true, force: true });
  return { noticed, seconds: Math.round((performance.now() - began) / 1000) };
}

interface Ended extends Error {
  readonly killed?: boolean;
  readonly code?: number;
  readonly stderr?: string;
}

export function verdictOf({ killed, code, stderr = "", message }: Ended): string {
  if (killed === true) return "it hangs";
  const [, failed] = /FAILED: (.*)/.exec(stderr) ?? [];
  // A rung that could not begin has judged nothing.
  if (failed === undefined && code === 2) return `${BROKE}: ${stderr.slice(0, 400)}`;
  return failed ?? `${message} ${stderr}`.slice(0, 400);
}

export function resultOf(stage: Stage, tried: readonly Tried[]): RungResult {
  const ran = tried.filter(({ unfit }) => unfit === undefined);
  const noticed = ran.filter((one) => one.noticed !== undefined);
  const silent = ran.filter((one) => one.noticed === undefined);
  const failures: Failure[] = silent
    .filter(({ mutant }) => mutant.covered === undefined)
    .map(({ mutant: { name, file, rung } }) => ({
      what: `nothing noticed that this was gone: ${name} (${file}, rung ${rung})`,
      replay: replayOf("mutation", { seed: stage.seed, rounds: mutants.length }),
    }));
  const skipped: Skipped[] = tried.flatMap(({ mutant, unfit }) =>
    unfit === undefined ? [] : [{ what: `mutant: ${mutant.name}`, why: unfit }],
  );
  const counts = {
    "mutants tried": ran.length,
    "mutants noticed": noticed.length,
    "of these without effect here": silent.length - failures.length,
  };
  return { counts, losses: 0, failures, skipped, notes: notesOf(ran) };
}
