// What is on the disk before something else may count on it: names of files, the checkpoint, the boot. More of the barriers and orders of mutants.ts.

import { alike, type Mutant } from "./mutant.js";

const ROUNDS = 60;

const order = alike({ safeguard: "order of publication", rung: "power-cut", rounds: ROUNDS });
const barrier = alike({ safeguard: "barrier", rung: "power-cut", rounds: ROUNDS });
const COMMITS = "commits the journal in which the names are, on ext4 and on XFS";
/** No rung can see it here. */
const covered = (mutant: Mutant, why: string): Mutant => ({ ...mutant, rounds: 30, covered: why });

export const names: readonly Mutant[] = [
  order(
    "the checkpoint says where the log begins before retention removes anything",
    "src/storage/keeper.ts",
    "if (!(await this.#tryCheckpoint(list.all[reasons.length].baseOffset))) return 0;\n",
    "",
  ),
  covered(
    order(
      "the boot is noted before the first write in it",
      "src/storage/keeper.ts",
      "if (last === undefined || last.bootId !== this.#bootId) await this.#writeCheckpoint();",
      'if (last !== undefined && last.bootId === "none") await this.#writeCheckpoint();',
    ),
    "an older boot is another one than the next, too, so nothing is lost: the epoch goes up behind a kill as well, where it need not, which test/storage/recovery.test.ts sees",
  ),
  barrier(
    "a checkpoint that is written over an older one is forced",
    "src/storage/checkpoint-file.ts",
    "await file.write(slot, (sequence % SLOTS) * SLOT_BYTES, true);",
    "await file.write(slot, (sequence % SLOTS) * SLOT_BYTES, false);",
  ),
  covered(
    barrier(
      "names of segments are forced before retention's checkpoint counts on them",
      "src/storage/keeper.ts",
      "      await native.syncDirectory(this.#state.dir);\n      return true;",
      "      return true;",
    ),
    `what retention takes is forced before, which ${COMMITS}: test/storage/names.test.ts looks at the order`,
  ),
  covered(
    barrier(
      "names of segments are forced before the checkpoint of a start counts on them",
      "src/storage/recovery.ts",
      "  await native.syncDirectory(dir);\n  await checkpoint.write({",
      "  await checkpoint.write({",
    ),
    `a start forces the files that it reads, which ${COMMITS}: test/storage/recovery-order.test.ts looks at the order`,
  ),
  covered(
    barrier(
      "before anything is written behind a clean stop, what told of it is gone from the disk",
      "src/storage/segment-opening.ts",
      "await native.syncDirectory(state.dir);",
      "await Promise.resolve();",
    ),
    `a barrier of any other partition on the disk ${COMMITS}, and ten share one here: test/storage/power-back.test.ts plays one that is alone`,
  ),
  covered(
    barrier(
      "the name of a partition's first segment is forced",
      "src/storage/partition-opening.ts",
      "  first.close();\n  await native.syncDirectory(dir);",
      "  first.close();",
    ),
    `the first barrier of the file ${COMMITS}: test/storage/names.test.ts looks at the order`,
  ),
  covered(
    barrier(
      "the names of partitions that are added are forced",
      "src/broker/open-partitions.ts",
      "if (added.length > 0) await native.syncDirectory(options.dataDir);",
      "",
    ),
    `the first barrier of a file in them ${COMMITS}: test/storage/names.test.ts looks at the order`,
  ),
  {
    ...covered(
      order(
        "after a failed write or barrier the next start raises the epoch",
        "src/storage/keeper.ts",
        "state.onPoisoned = () => void this.#lane.run(() => this.#doubt());",
        "state.onPoisoned = () => undefined;",
      ),
      "behind a disk that fails the rung starts in another boot, since what the cache held is gone: test/storage/poisoned-epoch.test.ts plays it in the same one",
    ),
    rung: "full-disk",
    rounds: undefined,
    seconds: 20,
  },
];
