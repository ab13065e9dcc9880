// What a cut of power leaves on a real file system at moments that are made and not waited for: bytes behind the end of a file, and
// an `.index` whose removal has not reached the disk. The ladder of trust (faults/) found both by cutting at random.

import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { MountKeeper, whyNoMounts } from "../../faults/lib/disk/mount-keeper.js";
import { packageRoot } from "../../src/native/load.js";
import { tempDir } from "../support/tmp.js";
import { logPath } from "./support/crash.js";
import { MODES, type Opened, open, type TestOptions } from "./support/opened.js";

const reason = whyNoMounts();
const because = reason === undefined ? "" : ` (${reason})`;

class Disk {
  readonly partition: string;
  #boots = 0;

  private constructor(
    readonly keeper: MountKeeper,
    readonly image: string,
    readonly mounted: string,
  ) {
    this.partition = join(mounted, "partition");
  }

  static async make(): Promise<Disk> {
    const directory = tempDir("power-back");
    const mounted = join(directory, "mounted");
    mkdirSync(mounted);
    const keeper = await MountKeeper.start(packageRoot(), directory);
    onTestFinished(() => keeper.close());
    const disk = new Disk(keeper, join(directory, "image"), mounted);
    await keeper.format("ext4", disk.image, 64);
    await keeper.mount("ext4", disk.image, mounted);
    return disk;
  }

  /** As the broker of this boot of the machine would. */
  open(options: TestOptions): Promise<Opened> {
    const bootId = `00000000-0000-0000-0000-${String(this.#boots + 1).padStart(12, "0")}`;
    return open(this.partition, { ...options, deps: { ...options.deps, bootId } });
  }

  /** The power fails, and comes back. Whoever has files open there keeps them: the process is not killed here. */
  async cut({ log }: Opened): Promise<void> {
    await this.keeper.cut(this.mounted, 0);
    await log.close().catch(() => undefined);
    await this.keeper.unmount(this.mounted);
    await this.keeper.mount("ext4", this.image, this.mounted);
    this.#boots++;
  }

  /** Commits what the journal has, as any file's barrier does; data of other files need not be in it. */
  commitJournal(): void {
    const fd = openSync(join(this.mounted, "other"), "w");
    fsyncSync(fd);
    closeSync(fd);
  }
}

const record = (letter: string): Uint8Array => Buffer.alloc(100, letter);

describe.skipIf(reason !== undefined)(`after a cut of power${because}`, () => {
  it.each(MODES)("no record that an earlier cut took away comes back in the place of another, %s", async (mode) => {
    const disk = await Disk.make();
    const first = await disk.open({ mode });
    await first.append(record("a"));
    await first.log.force();
    await first.append(record("b"));
    // The page is on the disk with both records, and the size of the file with one.
    await disk.keeper.writeOut(logPath(disk.partition, 0));
    await disk.cut(first);

    const second = await disk.open({ mode });
    const kept = second.log.logEndOffset;
    await second.append(record("c"));
    // The size of the file is on the disk, and the page not yet.
    disk.commitJournal();
    await disk.cut(second);

    const third = await disk.open({ mode });
    const letters = (await third.readAll()).map((bytes) => String.fromCharCode(bytes[0])).join("");
    expect(["a", "ab", "ac", "abc"]).toContain(letters);
    expect(letters.startsWith("a".padEnd(kept, "b"))).toBe(true);
    if (kept === 1) expect(letters).not.toContain("b");
    await third.close();
  });

  it.each(MODES)("F20 a reader hears of what is gone, also right behind a clean stop and a start, %s", async (mode) => {
    const disk = await Disk.make();
    const first = await disk.open({ mode });
    await first.append(record("a"));
    await first.close();

    const second = await disk.open({ mode });
    await second.append(record("b"));
    const seen = second.log.logEndOffset;
    const epoch = second.log.epoch;
    await disk.cut(second);

    const third = await disk.open({ mode });
    expect(third.log.logEndOffset >= seen || third.log.epoch > epoch).toBe(true);
    await third.close();
  });
});
