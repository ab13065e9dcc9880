// The rung `format-sweep`: every small damage that a crash or a disk can do to a partition's files, and what opens afterwards.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { RecordFormat } from "../../../src/model/record-format.js";
import { MODES } from "../../lib/episode-settings.js";
import { inTurns } from "../../lib/in-turns.js";
import { loadPackage, productOf } from "../../lib/product.js";
import { Random } from "../../lib/random.js";
import { type Failure, type Rung, type RungResult, replayOf, type Stage } from "../../lib/rung.js";
import { applyDamage, type Damage, damagesOf, groupOf, isRare, shownDamage } from "./damage.js";
import { expected, judge, type OpenLog } from "./oracle.js";
import { makeShapes, type Shape } from "./shapes.js";
import { layDown } from "./snapshot.js";

const FORMATS: readonly RecordFormat[] = ["crc32c", "plain"];
/**
 * Directories that are opened at the same time, on the disk and in memory. What comes of a file's bytes does not depend on what they lie on, and a
 * barrier costs nothing in memory: fifty times as many damages can be tried there. That barriers do what they must is for other rungs.
 */
const DISK_LANES = 4;
const MEMORY_LANES = 8;
const MEMORY = "/dev/shm";
const USUAL_SECONDS = 90;
/** Of the logs that opened, so many are written on, closed and opened once more. */
const GO_ON_CHANCE = 0.3;
/** A segment may be opened on the other path than it was written on (S14). */
const OTHER_PATH_CHANCE = 0.2;
const otherPath = ({ options }: Shape): Shape["options"]["mode"] => MODES.find((mode) => mode !== options.mode);
const FAILURES_MAX = 20;
const TOLD_EVERY = 20_000;

interface Case {
  readonly shape: Shape;
  readonly damage: Damage;
  /** Of its own choices, and its place in the order. */
  readonly random: Random;
}

interface Cases {
  readonly all: readonly Case[];
  /** So many of them at its beginning are of each group one. */
  readonly groups: number;
}

async function allCases({ product, directory, seed }: Stage): Promise<Cases> {
  const seeds = new Random(seed);
  const groups = new Map<string, Case[]>();
  for (const mode of MODES) {
    for (const format of FORMATS) {
      const shapes = await makeShapes(product, directory, mode, format, seeds.fork(`${mode} ${format}`));
      for (const shape of shapes) {
        for (const damage of damagesOf(shape)) {
          const group = `${shape.name}, ${groupOf(shape, damage)}`;
          const random = seeds.fork(`${shape.name}, ${shownDamage(damage)}`);
          if (!groups.has(group)) groups.set(group, []);
          groups.get(group)?.push({ shape, damage, random });
        }
      }
    }
  }
  return { all: inTurns([...groups.values()]), groups: groups.size };
}

/** So many rounds that a run with the same seed comes to case `at` for sure, also where some groups have a few more. */
const roundsFor = (at: number, groups: number): number => Math.ceil((at + 1) * 1.02) + 4 * groups;

async function run(stage: Stage): Promise<RungResult> {
  const { openLog } = (await loadPackage(stage.product)) as { openLog: OpenLog };
  const { all: cases, groups } = await allCases(stage);
  const until = performance.now() + (stage.seconds ?? (stage.rounds === undefined ? USUAL_SECONDS : 1e9)) * 1000;
  const most = Math.min(cases.length, stage.rounds ?? cases.length);
  const { index, count } = stage.part ?? { index: 1, count: 1 };
  const counts: Record<string, number> = {
    damages: 0,
    "of them on the disk": 0,
    opened: 0,
    refused: 0,
    unreadable: 0,
    "records read": 0,
  };
  const failures: Failure[] = [];
  const mine = Math.floor((most - index) / count) + 1;
  stage.progress(`${mine} of ${cases.length} damages, in ${groups} groups`);
  // Of a build that was broken on purpose one is enough.
  const enough = stage.product.dist === productOf(stage.root).dist ? FAILURES_MAX : 1;
  let losses = 0;
  let next = index - 1;

  const lane = async (lanes: string, number: number): Promise<void> => {
    const isTime = (): boolean => performance.now() < until || (stage.seconds === undefined && next < groups);
    for (let visit = 0; next < most && isTime() && failures.length < enough; visit++) {
      const at = next;
      next += count;
      const { shape, damage, random } = cases[at];
      const damaged = applyDamage(shape, damage, random);
      const dir = join(lanes, `lane-${number}`, String(visit % 2));
      layDown(dir, damaged);
      const want = expected(shape, damage, damaged);
      const options = {
        ...shape.options,
        mode: random.chance(OTHER_PATH_CHANCE) ? otherPath(shape) : shape.options.mode,
      };
      const goesOn = random.chance(GO_ON_CHANCE) || isRare(damage);
      const judged = await judge(openLog, dir, { ...shape, options }, want, goesOn).catch((error: unknown) => ({
        outcome: "opened" as const,
        wrong: `it failed: ${String(error instanceof Error ? error.stack : error)}`,
        recordsRead: 0,
      }));
      counts.damages++;
      if (lanes === stage.directory) counts["of them on the disk"]++;
      counts[judged.outcome]++;
      counts["records read"] += judged.recordsRead;
      if (counts.damages % TOLD_EVERY === 0) stage.progress(`${counts.damages} of ${mine} damages`);
      if (judged.wrong === undefined) continue;
      if (judged.wrong.startsWith("A SILENT LOSS")) losses++;
      const what = `case ${at}, ${shape.name}, ${shownDamage(damage)}: ${judged.wrong}`;
      stage.progress(what);
      failures.push({ what, replay: replayOf("format-sweep", { seed: stage.seed, rounds: roundsFor(at, groups) }) });
    }
  };
  const memory = existsSync(MEMORY) ? mkdtempSync(join(MEMORY, "millrace-sweep-")) : undefined;
  // Also when the run is ended from outside.
  process.once("exit", () => {
    if (memory !== undefined) rmSync(memory, { recursive: true, force: true });
  });
  const onDisk = Array.from({ length: DISK_LANES }, (_, number) => lane(stage.directory, number));
  const inMemory = Array.from({ length: MEMORY_LANES }, (_, number) =>
    lane(memory ?? stage.directory, DISK_LANES + number),
  );
  try {
    await Promise.all([...onDisk, ...inMemory]);
  } finally {
    if (memory !== undefined) rmSync(memory, { recursive: true, force: true });
  }
  return { counts, losses, failures, skipped: [] };
}

export const formatSweep: Rung = {
  name: "format-sweep",
  title: "Every small damage to the files of a partition",
  headline: ["damages", "records read"],
  proves: "damages",
  parts: true,
  about: `
Logs of eleven shapes (fresh, behind a checkpoint, torn before, sealed, over two segments, several segments unsealed, behind retention, closed cleanly, …), on both paths and in both
formats, as a crash leaves them just after a batch. Then one damage: the segment is cut at every byte (in the last batch also with the checkpoint as it was before, and without one), or zero from every byte on; every bit of the last batch, and one of each byte
before it, is flipped, after a clean stop also with another time of the file, as whoever touches it leaves it; each sector of 512 bytes is zeroed, garbled or taken from before the batch, those of the last batch in all pairs, too; index, checkpoint and
\`partition.json\` are cut at every byte, flipped in every bit, their sectors damaged in the same ways, replaced by their older state, removed; a checkpoint that is whole names a place one byte beside.

The oracle is a model of its own, written from [storage-format.md](storage-format.md). What opens is a prefix of what was written; it holds everything below the checkpoint and in
sealed segments, and everything before the damage; in \`crc32c\` no record is made up, in \`plain\` none below the damage. Or the partition refuses, with the file in its words, and
only where something durable may be damaged. Some lie on the disk, most in memory, where a barrier costs nothing. Where an index is damaged each record is asked for by its offset, too. Three in ten of what opened are written
on, closed and opened again. First comes one damage of each kind in each part of each file, then the next one of each.
`,
  unfit: () => Promise.resolve(undefined),
  run,
};
