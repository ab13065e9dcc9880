// Rung 4: the power is cut at random moments, and at chosen ones.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type FileSystem, MountKeeper, whyNoMounts, whyNot } from "../../lib/disk/mount-keeper.js";
import { Random } from "../../lib/random.js";
import { type Failure, type Rung, type RungResult, replayOf, type Skipped, type Stage } from "../../lib/rung.js";
import { CutDisk, type Tally } from "./disk.js";

/** For continuous integration, where two minutes are what it may take. */
const ROUNDS = 150;
const SECONDS = 110;
/** Then a new file system, so that a seed needs few rounds to replay. */
const ROUNDS_OF_A_DISK = 30;
const FAILURES_MAX = 5;

const about = `
A broker works on a file system on a loop device: five topics, on both write paths, in both formats, with both visibilities, in segments of 512 KiB with
retention, so that a second of load rolls, seals, writes indexes and checkpoints and removes segments. Producers ask for \`FORCED\` and \`WRITTEN\` in turns, consumers read.
At a random moment, or right when a directory shows a roll, an index, a checkpoint or a removal, during a clean stop, during the recovery of the cut before, or
just behind a stop (or the death of the process) and another start in the same boot, before anything of it was asked to be forced, the file system's
shutdown ioctl is called without flushing its log: all that was not forced is gone. The broker is killed at once after it, the file system unmounted and mounted again.

The next start must be able to open every partition by itself; all that was acknowledged as \`FORCED\`, and all that METADATA named as durable, must be there with the bytes that were
sent (each record carries its offset and the round it was sent in, so bytes that a cut took away cannot pass for others), without gaps; the high watermark is not below it; nothing is there
that nobody sent; log start and epoch never go back; with \`visibility = durable\` nothing that a consumer saw is gone, else the epoch says that it is. What a cut kills before it is
acknowledged may or may not be there.
`.trim();

export const powerCut: Rung = {
  name: "power-cut",
  title: "the power is cut at random and at chosen moments, on ext4 and XFS",
  headline: ["cuts (ext4)", "cuts (xfs)", "records acknowledged", "records read after a cut"],
  proves: "records acknowledged",
  about,
  unfit: async () => whyNoMounts(),
  run,
};

async function run(stage: Stage): Promise<RungResult> {
  const tally: Tally = { counts: {}, wrong: [], losses: 0 };
  const failures: Failure[] = [];
  const skipped: Skipped[] = [];
  const keeper = await MountKeeper.start(stage.root, stage.directory);
  try {
    const fileSystems = await usable(keeper, stage, skipped);
    const until =
      performance.now() + (stage.seconds ?? (stage.rounds === undefined ? SECONDS : Number.POSITIVE_INFINITY)) * 1000;
    const rounds = stage.rounds ?? (stage.seconds === undefined ? ROUNDS : Number.POSITIVE_INFINITY);
    for (let disk = 0, done = 0; done < rounds && performance.now() < until && failures.length < FAILURES_MAX; disk++) {
      const seed = stage.seed + disk;
      const fileSystem = fileSystems[seed % fileSystems.length];
      const random = new Random(seed);
      const cut = await CutDisk.make(fileSystem, keeper, stage, await directoryOf(stage, disk), seed);
      try {
        let sound = true;
        for (
          let round = 0;
          sound && round < ROUNDS_OF_A_DISK && done < rounds && performance.now() < until;
          round++, done++
        ) {
          sound = await cut.round(random.fork(round), tally);
        }
        for (const what of tally.wrong.splice(0)) failures.push({ what, replay: replayFor(seed, fileSystem) });
      } finally {
        await cut.remove();
      }
      stage.progress(
        `${tally.counts.cuts} cuts, ${tally.counts["records acknowledged"]} records acknowledged, ${tally.losses} losses`,
      );
    }
  } finally {
    await keeper.close();
  }
  return { counts: tally.counts, losses: tally.losses, failures, skipped };
}

/** The moments are not the same again: it is tried more often than once. */
const replayFor = (seed: number, fileSystem: FileSystem): string =>
  `${replayOf("power-cut", { seed, rounds: ROUNDS_OF_A_DISK })} (on ${fileSystem})`;

async function directoryOf(stage: Stage, disk: number): Promise<string> {
  const directory = join(stage.directory, `disk-${disk}`);
  await mkdir(directory, { recursive: true });
  return directory;
}

/** Those that can be made and mounted here. */
async function usable(keeper: MountKeeper, stage: Stage, skipped: Skipped[]): Promise<FileSystem[]> {
  const all: FileSystem[] = [];
  for (const fileSystem of ["ext4", "xfs"] as const) {
    let why = whyNot(fileSystem);
    if (why === undefined) {
      const directory = await directoryOf(stage, -1);
      try {
        await keeper.format(fileSystem, join(directory, "image"), fileSystem === "xfs" ? 320 : 64);
        await keeper.mount(fileSystem, join(directory, "image"), directory);
        await keeper.cut(directory, 0);
        await keeper.unmount(directory);
      } catch (error) {
        why = error instanceof Error ? error.message : String(error);
      }
    }
    if (why === undefined) all.push(fileSystem);
    else skipped.push({ what: `power cuts on ${fileSystem}`, why });
  }
  if (all.length === 0) throw new Error(`power can be cut on no file system: ${JSON.stringify(skipped)}`);
  return all;
}
