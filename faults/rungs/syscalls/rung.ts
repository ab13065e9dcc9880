// Rung 3: system calls that fail, one at a time, at every occurrence.

import { join } from "node:path";
import { BrokerProcess, type Settings } from "../../lib/broker-process.js";
import { inTurns } from "../../lib/in-turns.js";
import { Random } from "../../lib/random.js";
import { type Failure, type Rung, type RungResult, replayOf, type Skipped, type Stage } from "../../lib/rung.js";
import { tellAll, Wire } from "../../lib/witness/ask.js";
import { Load } from "../../lib/witness/load.js";
import { ledgersOf, type Scale, writeSettings } from "../../lib/witness/topics.js";
import { CALLS, type Injection, shown } from "./calls.js";
import { type Base, type CaseResult, runCase } from "./case.js";
import { buildShim, hasCompiler } from "./control.js";
import { compareWithStrace } from "./strace.js";

/** For continuous integration, where two minutes are what it may take. */
const SECONDS = 110;
const AT_ONCE = 2;
const FAILURES_MAX = 12;
const BARRIERS: readonly string[] = ["fsync", "fdatasync", "msync"];
const BASE_LOAD_MS = 400;
const SCALE: Scale = {
  segmentBytes: 16 * 1024,
  retentionBytes: 96 * 1024,
  partitions: 1,
  frameBytes: 15 * 1024,
  largeTimes: 4,
};

const about = `
A shim is loaded before the C library of the broker's process: it counts the calls that touch the data directory or a TCP socket, whoever makes them (the addon, its threads, or Node), and
makes one of them fail. A fixed scenario is run once to count: a start on what a killed broker left (sealed segments, an open one), and one on an empty directory; appends acknowledged as \`WRITTEN\` and as \`FORCED\` on both paths and in both
formats with rolls and retention in between, reads of old and new segments, the side port, a clean stop. Then it is run once for each occurrence of each call with each error: ${CALLS.map(
  ({ name, errors }) => `\`${name}\` (${errors.map((error) => error.name).join(", ")})`,
).join(
  ", ",
)}; *short* lets half of the bytes through. After each the directory is opened again with nothing failing. Continuous integration takes a
sample of them by the seed, as many as fit into its bound; by hand all are run (\`--seconds\`). The shim's counts are compared with those of strace.

Every request gets an answer, or its connection ends, within a deadline; so does the start and the stop. The process never ends by itself; a start may be refused with a documented message and exit code, a stop
may end with 1 and say so. A barrier that fails is told by an answer, an exit code or the log, but for one of a segment that is made ready ahead and holds nothing, for want of room: that is made anew when it is needed. After STORAGE_FAILURE no write is taken; LOG_FULL goes away by itself when the next call succeeds. An interrupted call, a short one, one that would block, and a
line of the log that cannot be written are not noticed by any client. Behind the start without faults everything is there that was acknowledged, \`WRITTEN\` as well as \`FORCED\`, with its bytes; every partition
opens and takes writes.
`.trim();

export const syscalls: Rung = {
  name: "syscalls",
  title: "system calls fail, one at a time, at every occurrence",
  headline: ["cases", "noticed by a client or an operator", "records acknowledged"],
  proves: "records acknowledged",
  only: { what: "case" },
  about,
  unfit: async () => {
    if (process.platform !== "linux") return "the shim is for Linux";
    return (await hasCompiler()) ? undefined : "there is no C compiler";
  },
  run,
};

async function run(stage: Stage): Promise<RungResult> {
  const { directory, product, seed, root } = stage;
  const library = await buildShim(root, directory);
  const dataSettings = async (dataDir: string): Promise<Settings> => ({
    ...(await writeSettings(directory, dataDir, SCALE)),
    "ops.enabled": true,
    "ops.port": 0,
    "retention.check.ms": 30,
    "stop.timeout.ms": "10s",
  });
  const common = await dataSettings("");
  const settings = (dataDir: string): Settings => ({ ...common, "data.dir": dataDir });
  const bases: readonly Base[] = [
    await makeBase(stage, settings(join(directory, "base"))),
    { name: "on nothing", directory: undefined, ledgers: ledgersOf(SCALE, seed + 1) },
  ];
  const runOne = (name: string, base: Base, injection?: Injection, wrapper?: readonly string[]): Promise<CaseResult> =>
    runCase({
      product,
      library,
      base,
      directory: join(directory, name),
      settings: (dataDir) => ({ ...settings(dataDir), "fetch.mode": heapFor(injection) ? "HEAP" : "ZERO_COPY" }),
      injection,
      wrapper,
    });

  const skipped: Skipped[] = [];
  const failures: Failure[] = [];
  const counts: Record<string, number> = { cases: 0 };
  let losses = 0;
  const count = (what: string, by = 1): void => {
    counts[what] = (counts[what] ?? 0) + by;
  };
  const took = (result: CaseResult, base: Base, injection?: Injection): void => {
    losses += result.losses;
    count("records acknowledged", result.acknowledged);
    const replay = injection === undefined ? replayOf("syscalls", stage) : replayOfCase(seed, base, injection);
    for (const what of result.wrong) failures.push({ what, replay });
    if (injection === undefined) return;
    count("cases");
    if (result.failed === 0) count("cases whose call did not come this time");
    else count(`failed ${injection.call.name}`);
    if (passedInSilence(result, injection, usual)) {
      const what = `${shown(injection)} on ${result.path}: nobody was told that a barrier had failed`;
      failures.push({ what, replay });
    }
    if (result.noticed) count("noticed by a client or an operator");
  };

  const usual = new Set<string>();
  const columns: (readonly Todo[])[] = [];
  for (const base of bases) {
    const without = await runOne("count", base);
    for (const kind of without.said) usual.add(kind);
    took(without, base);
    for (const [index, { name }] of CALLS.entries()) count(`${name} calls in the scenario`, without.counts[index]);
    columns.push(...todos(base, without.counts, new Random(seed)));
    if (failures.length > 0) continue;
    const odd = await compareWithStrace(directory, (wrapper) => runOne("strace", base, undefined, wrapper));
    if (odd.skipped !== undefined) skipped.push({ what: "the comparison with strace", why: odd.skipped });
    for (const what of odd.wrong ?? []) failures.push({ what, replay: replayOf("syscalls", stage) });
  }
  const cases = inTurns(columns);
  const { only } = stage;
  const bounded = stage.rounds === undefined && only === undefined;
  const seconds = stage.seconds ?? (bounded ? SECONDS : Number.POSITIVE_INFINITY);
  const until = performance.now() + seconds * 1000;
  const fits = only === undefined ? undefined : new RegExp(only);
  const fitting = cases.filter(({ base, injection }) => fits?.test(nameOf(base, injection)) !== false);
  if (fitting.length === 0)
    throw new Error(`no case has a name that fits ${only}; one is "${nameOf(cases[0].base, cases[0].injection)}"`);
  const wanted = fitting.slice(0, stage.rounds ?? fitting.length);
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < wanted.length && performance.now() < until && failures.length < FAILURES_MAX) {
        const number = next++;
        const { base, injection } = wanted[number];
        took(await runOne(`case-${number}`, base, injection), base, injection);
        if (counts.cases % 100 === 0) stage.progress(`${counts.cases} of ${wanted.length} cases, ${losses} losses`);
      }
    }),
  );
  if (next < cases.length) stage.progress(`${next} of ${cases.length} cases were run, a sample by the seed`);
  const notes = [
    `The scenarios of the last run had ${cases.length} cases: calls that there were, times errors that they may have.`,
  ];
  return { counts, losses, failures, skipped, notes };
}

/** Both ways out of a segment: which calls there are differs, so that sendfile has one of them to itself. */
const heapFor = (injection: Injection | undefined): boolean =>
  injection?.call.name === "pread" && injection.nth % 2 === 0;

/** A barrier that fails is told: by an answer, by how the process ends, or by its log. */
function passedInSilence(result: CaseResult, { call, failing }: Injection, usual: ReadonlySet<string>): boolean {
  if (!BARRIERS.includes(call.name) || failing.invisible || result.failed === 0 || result.noticed) return false;
  // Nothing is in it yet: it is thrown away and made anew when it is needed, and if there is no room then, that is told.
  if (failing.name === "ENOSPC" && result.path.endsWith("/next.tmp")) return false;
  return [...result.said].every((kind) => usual.has(kind));
}

interface Todo {
  readonly base: Base;
  readonly injection: Injection;
  /** By its name: how many of them there are depends on times. */
  readonly random: Random;
}

/** As --only sees it. */
export const nameOf = (base: Pick<Base, "name">, injection: Injection): string => `${shown(injection)} ${base.name}`;

/** That call, that error, that occurrence: which call it is may differ by a little, as threads are not in step. */
const replayOfCase = (seed: number, base: Base, injection: Injection): string =>
  replayOf("syscalls", { seed, only: `^${nameOf(base, injection)}$` });

/** For each pair of call and error all occurrences. */
export function todos(base: Base, counts: readonly number[], seeds: Random): Todo[][] {
  return CALLS.flatMap((call, index) =>
    call.errors.map((failing) =>
      Array.from({ length: counts[index] }, (_, at) => {
        const injection = { call, failing, nth: at + 1 };
        return { base, injection, random: seeds.fork(nameOf(base, injection)) };
      }),
    ),
  );
}

/** What a broker that was killed under load leaves: the same for all cases. */
async function makeBase(stage: Stage, settings: Settings): Promise<Base> {
  const ledgers = ledgersOf(SCALE, stage.seed);
  const broker = await BrokerProcess.start(stage.product, settings, { cwd: stage.directory });
  const options = { window: 2, batch: 6, forcedShare: 0.5, pauseMs: 6 };
  const load = Load.start(broker.port, ledgers, options, new Random(stage.seed).fork("base"));
  await new Promise((resolve) => setTimeout(resolve, BASE_LOAD_MS));
  const wire = await Wire.connect(broker.port);
  for (const ledger of ledgers) {
    const told = (await tellAll(wire)).get(ledger.name);
    if (told !== undefined) ledger.heard(told);
  }
  wire.destroy();
  await broker.kill();
  const { wrong } = await load.end();
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  return { name: "on what a kill left", directory: String(settings["data.dir"]), ledgers };
}
