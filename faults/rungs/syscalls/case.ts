// One case: a broker on a copy of a killed one's directory, one of whose system calls fails; then the same directory without.

import { cp, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { BrokerProcess, NotReadyError, type Settings, shownEnd } from "../../lib/broker-process.js";
import type { Product } from "../../lib/rung.js";
import { readThrough, tellAll, Wire, within } from "../../lib/witness/ask.js";
import type { Ledger } from "../../lib/witness/ledger.js";
import { type Injection, shown } from "./calls.js";
import { Control } from "./control.js";
import { Play } from "./play.js";

const READY_MS = 30_000;
const STOP_MS = 25_000;
const ASK_MS = 20_000;
const LOUD: readonly string[] = ["warn", "error", "fatal"];
/** As docs/troubleshooting.md has them: what a start may end with when the machine lets it down. */
const REFUSALS: readonly (number | null)[] = [1, 3, 4];

export interface Base {
  /** For people. */
  readonly name: string;
  /** What a killed broker left. Undefined: nothing is there yet. */
  readonly directory: string | undefined;
  readonly ledgers: readonly Ledger[];
}

export interface CaseOptions {
  readonly product: Product;
  readonly library: string;
  readonly base: Base;
  /** Empty, or not there: its own. */
  readonly directory: string;
  readonly settings: (dataDir: string) => Settings;
  readonly injection?: Injection;
  readonly wrapper?: readonly string[];
}

export interface CaseResult {
  readonly counts: readonly number[];
  readonly failed: number;
  readonly path: string;
  readonly wrong: readonly string[];
  readonly losses: number;
  readonly acknowledged: number;
  /** By a client, or by whoever starts and stops it. */
  readonly noticed: boolean;
  /** Kinds of lines from `warn` on in its log. */
  readonly said: ReadonlySet<string>;
}

export async function runCase(options: CaseOptions): Promise<CaseResult> {
  const { base, directory, injection } = options;
  const dataDir = join(directory, "data");
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  if (base.directory === undefined) await mkdir(dataDir);
  else await cp(base.directory, dataDir, { recursive: true, preserveTimestamps: true });
  const ledgers = base.ledgers.map((ledger) => ledger.copy());
  const control = await Control.write(join(directory, "control"), injection);
  const one = new Case(options, dataDir, ledgers);
  try {
    await one.withFault(control);
    await one.without();
  } catch (error) {
    one.wrong.push(error instanceof Error ? error.message : String(error));
  } finally {
    await one.end();
  }
  const { failed, counts, path } = await control.read();
  const where = injection === undefined ? "without a fault" : `${shown(injection)} on ${path.replace(dataDir, "")}`;
  const said = one.stderr.slice(-1500);
  const wrong = one.wrong.map((what) => `${where}: ${what}\n${said}`);
  if (wrong.length === 0) await rm(directory, { recursive: true, force: true });
  const { losses, acknowledged, noticed, said: kinds } = one;
  return { counts, failed, path, wrong, losses, acknowledged, noticed, said: kinds };
}

class Case {
  readonly wrong: string[] = [];
  losses = 0;
  acknowledged = 0;
  noticed = false;
  stderr = "";
  readonly said = new Set<string>();
  #broker: BrokerProcess | undefined;

  constructor(
    readonly options: CaseOptions,
    readonly dataDir: string,
    readonly ledgers: readonly Ledger[],
  ) {}

  get #strict(): boolean {
    const { injection } = this.options;
    return injection === undefined || injection.failing.invisible;
  }

  async end(): Promise<void> {
    if (this.#broker !== undefined && this.#broker.ended === undefined) await this.#broker.kill();
  }

  async withFault(control: Control): Promise<void> {
    const { product, library, settings, directory, wrapper } = this.options;
    const environment = control.environment(library, this.dataDir);
    const broker = BrokerProcess.spawn(product, settings(this.dataDir), { cwd: directory, environment, wrapper });
    this.#broker = broker;
    try {
      if (!(await this.#ready(broker))) return;
      const open = await this.#recovered(broker, "a start with a fault");
      const play = new Play(broker, open, { strict: this.#strict });
      try {
        await play.run();
      } finally {
        this.wrong.push(...play.wrong);
        this.acknowledged += play.acknowledged;
        this.noticed ||= play.noticed.length > 0;
      }
      if (broker.ended !== undefined) this.wrong.push(`the broker ended by itself with ${shownEnd(broker.ended)}`);
      else await this.#stop(broker);
    } finally {
      if (broker.ended === undefined) await broker.kill();
      this.stderr = broker.stderr;
      for (const { level, kind } of broker.lines) if (LOUD.includes(level)) this.said.add(kind ?? "");
    }
  }

  async #ready(broker: BrokerProcess): Promise<boolean> {
    try {
      await broker.ready(READY_MS);
      return true;
    } catch (error) {
      if (!(error instanceof NotReadyError)) throw error;
      this.noticed = true;
      const { ended } = error;
      const said = /millrace: not started: ./.test(error.stderr);
      if (this.#strict || ended === undefined || !REFUSALS.includes(ended.code) || !said)
        this.wrong.push(error.message);
      return false;
    }
  }

  /** Judges the start. Those that it opened. */
  async #recovered(broker: BrokerProcess, what: string): Promise<Ledger[]> {
    const wire = await Wire.connect(broker.port);
    const all = await within(ASK_MS, "METADATA", tellAll(wire)).catch((error: unknown) => {
      if (this.#strict || String(error).includes("hangs:")) throw error;
      this.noticed = true;
      return undefined;
    });
    wire.destroy();
    // The call that failed was of this very connection. It fails once.
    if (all === undefined) return this.#recovered(broker, what);
    return this.ledgers.filter((ledger) => {
      const told = all.get(ledger.name);
      if (told === undefined || told.epoch < 0) {
        this.noticed = true;
        if (this.#strict) this.wrong.push(`${what}: ${ledger.name} does not open`);
        return false;
      }
      const verdict = ledger.recovered(told, "process");
      this.losses += verdict.lost;
      this.wrong.push(...verdict.wrong);
      return true;
    });
  }

  async #stop(broker: BrokerProcess): Promise<void> {
    const ended = await broker.stop(STOP_MS);
    if (ended.code === 0) return;
    this.noticed = true;
    const said = broker.lines.some(({ kind }) => kind === "broker.stopped");
    if (this.#strict || ended.code !== 1 || !said) this.wrong.push(`the stop ended with ${shownEnd(ended)}`);
  }

  /** The same directory, and nothing fails. */
  async without(): Promise<void> {
    const { product, settings, directory } = this.options;
    const broker = BrokerProcess.spawn(product, settings(this.dataDir), { cwd: directory });
    this.#broker = broker;
    await broker.ready(READY_MS).catch((error: unknown) => {
      for (const ledger of this.ledgers) this.losses += ledger.written;
      throw error;
    });
    const open = await this.#recovered(broker, "the start after it");
    const wire = await Wire.connect(broker.port);
    const all = await tellAll(wire);
    for (const ledger of this.ledgers) {
      if (!open.includes(ledger)) {
        this.losses += ledger.written;
        this.wrong.push(`the start after it: ${ledger.name} does not open\n${broker.stderr.slice(-1500)}`);
        continue;
      }
      const { wrong } = await within(
        ASK_MS,
        `reading ${ledger.name}`,
        readThrough(wire, ledger, all.get(ledger.name)!),
      );
      this.wrong.push(...wrong);
    }
    wire.destroy();
    const play = new Play(broker, open, { strict: true });
    if (this.wrong.length === 0) await play.run(1);
    this.wrong.push(...play.wrong);
    const ended = await broker.stop(STOP_MS);
    if (ended.code !== 0) this.wrong.push(`the stop after it ended with ${shownEnd(ended)}`);
  }
}
