// One life of a broker on a disk that runs full: the room goes and comes back, and the broker is stopped or killed in one of both states.

import { BrokerProcess, NotReadyError, type Settings, shownEnd } from "../../lib/broker-process.js";
import type { Random } from "../../lib/random.js";
import type { Product } from "../../lib/rung.js";
import { readThrough, tellAll, Wire, within } from "../../lib/witness/ask.js";
import type { Ledger } from "../../lib/witness/ledger.js";
import { Load } from "../../lib/witness/load.js";
import type { FullDisk } from "./disks.js";

const PHASE_MS = 30_000;
const LOOK_MS = 20;
/** So long a log may live on blocks of the thin disk that its own retention frees. */
const RECYCLED_MS = 5_000;
const READY_MS = 60_000;
const STOP_MS = 60_000;
const READ_MS = 60_000;
const LIVES_OF_ROOM = 3;
const MOST_LEFT_BYTES = 600 * 1024;
const KEPT_LEFT_BYTES = 64 * 1024;
/** What it says when there is no room, or when the disk failed: kinds of its log lines. */
const SAYS =
  /^(disk\.|partition\.poisoned|segment\.prepare-failed|checkpoint\.write-failed|index\.write-failed|partition\.refused|retention\.failed)/;

export interface Tally {
  readonly counts: Record<string, number>;
  readonly wrong: string[];
  losses: number;
}

export class FullDiskPlay {
  constructor(
    readonly disk: FullDisk,
    readonly ledgers: readonly Ledger[],
    readonly product: Product,
    readonly settings: Settings,
    readonly tally: Tally,
  ) {}

  /** False: something was wrong. */
  async life(random: Random): Promise<boolean> {
    const { disk } = this;
    const wrong: string[] = [];
    const broker = await this.#start(wrong);
    if (broker === undefined) return this.#end(wrong);
    try {
      await this.#judge(broker, wrong);
      if (wrong.length === 0) wrong.push(...(await this.#loaded(broker, random)));
    } catch (error) {
      wrong.push(error instanceof Error ? error.message : String(error));
    } finally {
      if (broker.ended === undefined) await broker.kill();
    }
    if (wrong.length > 0) wrong.push(broker.stderr.slice(-1500));
    await disk.remount();
    this.#count("lives of a broker");
    this.#count(`lives on ${disk.kind}`);
    return this.#end(wrong);
  }

  #end(wrong: readonly string[]): boolean {
    this.tally.wrong.push(...wrong.map((what) => `${this.disk.kind}: ${what}`));
    return wrong.length === 0;
  }

  #count(what: string, by = 1): void {
    const { counts } = this.tally;
    counts[what] = (counts[what] ?? 0) + by;
  }

  /** On a disk without room a start may refuse, and must say why; with room it may not. */
  async #start(wrong: string[]): Promise<BrokerProcess | undefined> {
    const { disk, product, settings } = this;
    const start = async (): Promise<BrokerProcess> =>
      BrokerProcess.start(product, settings, { cwd: disk.directory, wrapper: await disk.wrapper(), readyMs: READY_MS });
    try {
      const broker = await start();
      const wire = await Wire.connect(broker.port);
      const refused = [...(await tellAll(wire)).values()].filter(({ epoch }) => epoch < 0).length;
      wire.destroy();
      if (refused === 0) return broker;
      if (!broker.lines.some(({ kind }) => kind === "partition.refused"))
        wrong.push("a partition was refused without a word");
      this.#count("partitions refused on a full disk", refused);
      await broker.stop(STOP_MS);
    } catch (error) {
      if (!(error instanceof NotReadyError)) throw error;
      const said = /millrace: not started: ./.test(error.stderr);
      if (error.ended === undefined || error.ended.code !== 4 || !said) wrong.push(error.message);
      this.#count("starts refused on a full disk");
    }
    await disk.empty();
    try {
      return await start();
    } catch (error) {
      for (const ledger of this.ledgers) this.tally.losses += ledger.forced;
      wrong.push(`with room again: ${String(error)}`);
      return undefined;
    }
  }

  async #judge(broker: BrokerProcess, wrong: string[]): Promise<void> {
    const wire = await Wire.connect(broker.port);
    try {
      const all = await within(READ_MS, "METADATA", tellAll(wire));
      for (const ledger of this.ledgers) {
        const told = all.get(ledger.name) ?? { epoch: -1, logStart: -1, highWatermark: -1, durable: -1, logEnd: -1 };
        const verdict = ledger.recovered(told, this.disk.kind === "thin" ? "power" : "process");
        this.tally.losses += verdict.lost;
        wrong.push(...verdict.wrong);
        const read = await within(READ_MS, `reading ${ledger.name}`, readThrough(wire, ledger, told));
        this.#count("records read after a start", read.records);
        wrong.push(...read.wrong);
      }
    } finally {
      wire.destroy();
    }
  }

  async #loaded(broker: BrokerProcess, random: Random): Promise<string[]> {
    const { ledgers, disk } = this;
    const load = Load.start(
      broker.port,
      ledgers,
      { window: 6, batch: 40, forcedShare: random.pick([0.3, 1]) },
      random.fork("load"),
    );
    const wrong: string[] = [];
    const failing = disk.kind === "thin";
    try {
      for (let turn = 0; turn < random.int(1, LIVES_OF_ROOM + 1) && wrong.length === 0; turn++) {
        await this.#roomGoes(broker, random, load);
        if (failing) break;
        wrong.push(...(await this.#readable(broker)));
        if (random.chance(0.25)) break;
        await this.#roomComesBack(broker, load);
      }
      if (random.chance(0.5)) await disk.empty();
      if (random.chance(0.4)) {
        const ended = await broker.stop(STOP_MS);
        const said = broker.lines.some(({ kind }) => kind === "broker.stopped");
        if (ended.code !== 0 && !(ended.code === 1 && said)) wrong.push(`the stop ended with ${shownEnd(ended)}`);
        this.#count("clean stops");
      } else {
        await broker.kill();
        this.#count("kills");
      }
      if (!broker.lines.some(({ kind }) => kind !== undefined && SAYS.test(kind)))
        wrong.push("the broker said nothing of it");
    } finally {
      const { wrong: seen, acknowledged, read, answers } = await load.end();
      wrong.push(...seen);
      this.#count("records acknowledged", acknowledged);
      this.#count("records read under load", read);
      this.#count("answers LOG_FULL", answers.get(7) ?? 0);
      this.#count("answers STORAGE_FAILURE", answers.get(6) ?? 0);
    }
    if (!failing) {
      const poisoned = ledgers.filter(({ failed }) => failed).map(({ name }) => name);
      if (poisoned.length > 0) wrong.push(`poisoned by a disk that was only full: ${poisoned.join(", ")}`);
    }
    return wrong;
  }

  /** Until every partition has been told so: LOG_FULL, or on a disk that fails STORAGE_FAILURE. */
  async #roomGoes(broker: BrokerProcess, random: Random, load: Load): Promise<void> {
    const before = this.ledgers.map(({ refused }) => refused);
    await new Promise((resolve) => setTimeout(resolve, random.int(0, 200)));
    const leftBytes = random.skewed(0, MOST_LEFT_BYTES);
    await this.disk.fill(leftBytes);
    const told = (): boolean => this.ledgers.every(({ refused, failed }, index) => failed || refused > before[index]);
    // What retention frees is taken again, or the log would live on it.
    const left = Math.min(leftBytes, KEPT_LEFT_BYTES);
    const recycled = performance.now() + RECYCLED_MS;
    const fill = async (): Promise<void> => {
      await this.disk.fill(left);
      if (this.disk.kind === "thin" && performance.now() > recycled) await this.disk.fillWithin(left);
    };
    await this.#until(told, broker, load, "the disk is full, and producers are not told", fill);
    this.#count("times the room went");
  }

  /** Then every partition takes writes again. */
  async #roomComesBack(broker: BrokerProcess, load: Load): Promise<void> {
    await this.disk.empty();
    const before = this.ledgers.map(({ acknowledged }) => acknowledged);
    const goesOn = (): boolean =>
      this.ledgers.every(({ acknowledged, failed }, index) => failed || acknowledged > before[index]);
    await this.#until(goesOn, broker, load, "there is room again, and writes do not go on");
    this.#count("times the room came back");
  }

  async #until(
    holds: () => boolean,
    broker: BrokerProcess,
    load: Load,
    what: string,
    meanwhile: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    const late = performance.now() + PHASE_MS;
    while (!holds()) {
      if (broker.ended !== undefined) throw new Error(`the broker ended by itself with ${shownEnd(broker.ended)}`);
      if (performance.now() > late) {
        const state = this.ledgers.map(({ name, refused, acknowledged, failed }) => ({
          name,
          refused,
          acknowledged,
          failed,
        }));
        throw new Error(`${what}: ${JSON.stringify(state)}, answers ${JSON.stringify([...load.answers])}`);
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      await meanwhile();
    }
  }

  /** Reads go on, of everything. */
  async #readable(broker: BrokerProcess): Promise<string[]> {
    const wire = await Wire.connect(broker.port);
    try {
      const all = await within(READ_MS, "METADATA on a full disk", tellAll(wire));
      const wrong: string[] = [];
      for (const ledger of this.ledgers) {
        const told = all.get(ledger.name);
        if (told === undefined || ledger.failed) continue;
        const read = await within(READ_MS, `reading ${ledger.name} on a full disk`, readThrough(wire, ledger, told));
        this.#count("records read on a full disk", read.records);
        wrong.push(...read.wrong);
      }
      return wrong;
    } finally {
      wire.destroy();
    }
  }
}
