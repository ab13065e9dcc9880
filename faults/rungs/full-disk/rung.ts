// Rung 5: the disk is full, has room again, and is full once more.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { MountKeeper, whyNoMounts } from "../../lib/disk/mount-keeper.js";
import { Random } from "../../lib/random.js";
import { type Failure, type Rung, type RungResult, replayOf, type Stage } from "../../lib/rung.js";
import { ledgersOf, type Scale, writeSettings } from "../../lib/witness/topics.js";
import { FullDisk, KINDS } from "./disks.js";
import { FullDiskPlay, type Tally } from "./play.js";

/** For continuous integration, where a minute is what it may take. */
const SECONDS = 60;
const LIVES_OF_A_DISK = 5;
const FAILURES_MAX = 5;
const SCALE: Scale = {
  segmentBytes: 512 * 1024,
  retentionBytes: 2 * 1024 * 1024,
  partitions: 1,
  frameBytes: 256 * 1024,
  largeTimes: 40,
};

const about = `
A broker with five topics (both write paths, both formats, both visibilities) under load on an ext4 of 64 MiB on a loop device, on a tmpfs of 40 MiB, and on a *thin* disk: an ext4 whose image lies on a tmpfs that has less
room than the file system has blocks, so that the device fails when they are written (the third \`fsync\` in a row says 0 there with the data gone). A file takes the room away, down to the last blocks, and gives it back, several times in
the life of a broker; then the broker is stopped or killed, on the full disk or with room again, and started on what is left.

While the disk is full every producer is told LOG_FULL, every record can be read, and the log says what is wrong; when there is room again every partition takes writes within a deadline; nothing
is poisoned by a disk that is only full, and the process never ends by itself. On the thin disk every partition answers LOG_FULL or STORAGE_FAILURE. A start on the full disk may refuse and must say why; with room it may not. Then everything
is there that was acknowledged: \`WRITTEN\` and \`FORCED\`, and on the thin disk, which has lost what it did not write, what was \`FORCED\` or named as durable.
`.trim();

export const fullDisk: Rung = {
  name: "full-disk",
  title: "the disk is full, has room again, and fails",
  headline: ["lives of a broker", "times the room went", "records acknowledged"],
  proves: "records acknowledged",
  about,
  unfit: async () => whyNoMounts(),
  run,
};

async function run(stage: Stage): Promise<RungResult> {
  const tally: Tally = { counts: {}, wrong: [], losses: 0 };
  const failures: Failure[] = [];
  const keeper = await MountKeeper.start(stage.root, stage.directory);
  try {
    const { seconds = stage.rounds === undefined ? SECONDS : Number.POSITIVE_INFINITY } = stage;
    const until = performance.now() + seconds * 1000;
    const rounds = stage.rounds ?? Number.POSITIVE_INFINITY;
    for (
      let number = 0, done = 0;
      done < rounds && performance.now() < until && failures.length < FAILURES_MAX;
      number++
    ) {
      const seed = stage.seed + number;
      const random = new Random(seed);
      const directory = join(stage.directory, `disk-${number}`);
      await mkdir(directory, { recursive: true });
      const disk = await FullDisk.make(KINDS[seed % KINDS.length], keeper, directory);
      try {
        const settings = await writeSettings(directory, join(disk.mounted, "data"), SCALE);
        const reserve = random.pick([0, 0, 2 * 1024 * 1024]);
        const own = { ...settings, "disk.reserve.bytes": reserve, "fetch.mode": random.pick(["ZERO_COPY", "HEAP"]) };
        const play = new FullDiskPlay(disk, ledgersOf(SCALE, seed), stage.product, own, tally);
        let sound = true;
        for (
          let life = 0;
          sound && life < LIVES_OF_A_DISK && done < rounds && performance.now() < until;
          life++, done++
        ) {
          sound = await play.life(random.fork(life));
        }
        const replay = replayOf("full-disk", { seed, rounds: LIVES_OF_A_DISK });
        for (const what of tally.wrong.splice(0)) failures.push({ what, replay: `${replay} (it was on ${disk.kind})` });
      } finally {
        await disk.remove();
      }
      const { counts } = tally;
      stage.progress(
        `${counts["lives of a broker"]} lives, ${counts["records acknowledged"]} records acknowledged, ${tally.losses} losses`,
      );
    }
  } finally {
    await keeper.close();
  }
  return { counts: tally.counts, losses: tally.losses, failures, skipped: [] };
}
