// One disk whose power is cut again and again: a broker on it is started, judged by what it recovered, put under load and cut off.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { BrokerProcess, NotReadyError, type Settings, shownEnd } from "../../lib/broker-process.js";
import { inAnotherBoot, inThatBoot } from "../../lib/disk/boot.js";
import type { FileSystem, MountKeeper } from "../../lib/disk/mount-keeper.js";
import type { Random } from "../../lib/random.js";
import type { Product, Stage } from "../../lib/rung.js";
import { readThrough, tellAll, Wire, within } from "../../lib/witness/ask.js";
import type { Ledger } from "../../lib/witness/ledger.js";
import { Load, type LoadOptions } from "../../lib/witness/load.js";
import { ledgersOf, type Scale, writeSettings } from "../../lib/witness/topics.js";
import { type Aim, pickAim, seen } from "./aim.js";

const SCALE: Scale = {
  segmentBytes: 512 * 1024,
  retentionBytes: 2 * 1024 * 1024,
  partitions: 2,
  frameBytes: 256 * 1024,
  largeTimes: 40,
};
const MEBIBYTES: Readonly<Record<FileSystem, number>> = { ext4: 192, xfs: 320 };
const LOAD_MS = 600;
const SIGN_MS = 1500;
const STOP_MS = 120;
/** What a start may take before one has been seen. */
const START_MS = 350;
/** From a second start on: until something was acknowledged, at most, and behind that. */
const FIRST_MS = 400;
const BEHIND_FIRST_MS = 40;
const STOPPED_MS = 60_000;
const READY_MS = 60_000;
const READ_MS = 60_000;
/** A broker that dies at once for whatever reason of its own is no start that was cut. */
const ENDED_BY_CUT = [0, 1, 4];

/** What a start says of what it found. */
const SAID = [
  ["recovery.torn", "torn tails"],
  ["recovery.trimmed", "segments behind a torn tail"],
  ["index.rebuilt", "indexes rebuilt"],
  ["epoch.raised", "epochs raised"],
] as const;

const loadOptions = (random: Random): LoadOptions => ({
  window: 8,
  batch: 40,
  forcedShare: random.pick([0.2, 0.8, 1]),
  pauseMs: random.pick([undefined, undefined, 4]),
});

/** What a disk has been through. */
export interface Tally {
  readonly counts: Record<string, number>;
  readonly wrong: string[];
  losses: number;
}

export class CutDisk {
  readonly #dir: string;
  readonly #mounted: string;
  readonly #image: string;
  readonly #ledgers: readonly Ledger[];
  #startMs = START_MS;

  private constructor(
    readonly fileSystem: FileSystem,
    readonly keeper: MountKeeper,
    readonly product: Product,
    readonly settings: Settings,
    directory: string,
    salt: number,
  ) {
    this.#dir = directory;
    this.#mounted = join(directory, "mounted");
    this.#image = join(directory, "image");
    this.#ledgers = ledgersOf(SCALE, salt);
  }

  static async make(
    fileSystem: FileSystem,
    keeper: MountKeeper,
    stage: Stage,
    directory: string,
    salt: number,
  ): Promise<CutDisk> {
    await mkdir(join(directory, "mounted"), { recursive: true });
    const settings = await writeSettings(directory, join(directory, "mounted", "data"), SCALE);
    const disk = new CutDisk(fileSystem, keeper, stage.product, settings, directory, salt);
    await keeper.format(fileSystem, disk.#image, MEBIBYTES[fileSystem]);
    await keeper.mount(fileSystem, disk.#image, disk.#mounted);
    return disk;
  }

  async remove(): Promise<void> {
    await this.keeper.unmount(this.#mounted);
  }

  /** One start and one cut. False: something was wrong, and the disk is left as it is. */
  async round(random: Random, tally: Tally): Promise<boolean> {
    const aim = pickAim(random);
    const count = (what: string, by = 1): void => {
      tally.counts[what] = (tally.counts[what] ?? 0) + by;
    };
    // Behind a cut the kernel is another one, as the broker sees it: that is how it tells a cut from the death of its process.
    let broker = this.#spawn(await inAnotherBoot(this.#dir));
    try {
      if (aim === "recovery") {
        // Its first half is Node's own start.
        const afterMs = this.#startMs * (0.4 + 0.7 * random.next());
        await Promise.race([broker.exited, new Promise((resolve) => setTimeout(resolve, afterMs))]);
        await this.#cut(broker, aim, count);
        return true;
      }
      const wrong = await this.#judge(broker, "power", tally, count);
      if (wrong.length === 0 && aim === "restart") {
        wrong.push(...(await this.#loadAndEnd(broker, random, count)));
        broker = this.#spawn(inThatBoot(this.#dir));
        if (wrong.length === 0) wrong.push(...(await this.#judge(broker, "process", tally, count)));
      }
      if (wrong.length === 0) wrong.push(...(await this.#loadAndCut(broker, aim, random, count)));
      tally.wrong.push(...wrong.map((what) => `${this.fileSystem}, ${aim}: ${what}`));
      return wrong.length === 0;
    } finally {
      if (broker.ended === undefined) await broker.kill();
    }
  }

  #spawn(wrapper: readonly string[]): BrokerProcess {
    return BrokerProcess.spawn(this.product, this.settings, { cwd: this.#dir, wrapper });
  }

  async #cut(broker: BrokerProcess, aim: Aim, count: (what: string, by?: number) => void): Promise<void> {
    await this.keeper.cut(this.#mounted, broker.ended === undefined ? broker.pid : 0);
    const { code, signal } = await broker.exited;
    if (signal !== "SIGKILL" && !ENDED_BY_CUT.includes(code ?? 0)) throw new Error(`the broker ended with ${code}`);
    await this.keeper.unmount(this.#mounted);
    await this.keeper.mount(this.fileSystem, this.#image, this.#mounted);
    count("cuts");
    count(`cuts (${this.fileSystem})`);
    count(`cuts aimed at ${aim}`);
  }

  /** What the start made of what the last cut left, or the end of the process. */
  async #judge(
    broker: BrokerProcess,
    died: "power" | "process",
    tally: Tally,
    count: (what: string, by?: number) => void,
  ): Promise<string[]> {
    try {
      await broker.ready(READY_MS);
      this.#startMs = broker.readyMs;
    } catch (error) {
      if (!(error instanceof NotReadyError)) throw error;
      for (const ledger of this.#ledgers) tally.losses += ledger.forced;
      return [error.message];
    }
    const wire = await Wire.connect(broker.port);
    try {
      const all = await within(READ_MS, "METADATA", tellAll(wire));
      const wrong: string[] = [];
      for (const ledger of this.#ledgers) {
        const told = all.get(ledger.name) ?? { epoch: -1, logStart: -1, highWatermark: -1, durable: -1, logEnd: -1 };
        const verdict = ledger.recovered(told, died);
        tally.losses += verdict.lost;
        wrong.push(...verdict.wrong);
        if (told.epoch < 0) wrong.push(broker.stderr.slice(-1500));
        const read = await within(READ_MS, `reading ${ledger.name}`, readThrough(wire, ledger, told));
        count("records read after a cut", read.records);
        wrong.push(...read.wrong);
      }
      for (const [kind, what] of SAID) count(what, broker.lines.filter((line) => line.kind === kind).length);
      return wrong;
    } finally {
      wire.destroy();
    }
  }

  /** Stopped cleanly, or killed. */
  async #loadAndEnd(
    broker: BrokerProcess,
    random: Random,
    count: (what: string, by?: number) => void,
  ): Promise<string[]> {
    const load = Load.start(broker.port, this.#ledgers, loadOptions(random), random.fork("before"));
    await new Promise((resolve) => setTimeout(resolve, random.int(5, LOAD_MS / 4)));
    const isClean = random.chance(0.7);
    const ended = isClean ? await broker.stop(STOPPED_MS) : await broker.kill().then(() => broker.exited);
    count(isClean ? "clean stops before a cut" : "kills before a cut");
    const { wrong, acknowledged, read } = await load.end();
    count("records acknowledged", acknowledged);
    count("records read under load", read);
    return isClean && ended.code !== 0 ? [...wrong, `the stop ended with ${shownEnd(ended)}`] : [...wrong];
  }

  async #loadAndCut(
    broker: BrokerProcess,
    aim: Aim,
    random: Random,
    count: (what: string, by?: number) => void,
  ): Promise<string[]> {
    const options = { ...loadOptions(random), ...(aim === "restart" && { forcedShare: 0 }) };
    const load = Load.start(broker.port, this.#ledgers, options, random.fork("load"));
    if (aim === "restart") {
      const late = performance.now() + FIRST_MS;
      while (load.acknowledged === 0 && performance.now() < late)
        await new Promise((resolve) => setTimeout(resolve, 1));
      await new Promise((resolve) => setTimeout(resolve, random.int(0, BEHIND_FIRST_MS)));
    } else if (aim === "load" || aim === "stop") {
      await new Promise((resolve) => setTimeout(resolve, random.int(5, LOAD_MS)));
    } else {
      const dataDir = String(this.settings["data.dir"]);
      if (await seen(dataDir, aim, random.skewed(1, 30), SIGN_MS)) count(`cuts that saw ${aim}`);
      // Often at once, sometimes a little later.
      const laterMs = random.skewed(0, 12);
      if (laterMs > 0) await new Promise((resolve) => setTimeout(resolve, laterMs));
    }
    if (aim === "stop") {
      broker.signal("SIGTERM");
      await Promise.race([broker.exited, new Promise((resolve) => setTimeout(resolve, random.int(0, STOP_MS)))]);
    }
    load.cutOff();
    await this.#cut(broker, aim, count);
    const { wrong, acknowledged, read } = await load.end();
    count("records acknowledged", acknowledged);
    count("records read under load", read);
    return [...wrong];
  }
}
