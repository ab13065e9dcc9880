// One broker's life under load: started, disturbed, started again, and in the end judged by its history. What disturbs it is the rung's.

import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { BrokerProcess, type LogLine, type Settings, type StartOptions, shownEnd } from "./broker-process.js";
import { type EpisodeSettings, episodeSettings } from "./episode-settings.js";
import { checkHistory, type Verdict } from "./history/check.js";
import { History } from "./history/history.js";
import { type Load, mixedLoad, startLoad } from "./history/load.js";
import { readLogs } from "./history/read-logs.js";
import { Address, type LoadTarget } from "./history/worker.js";
import type { Random } from "./random.js";
import type { Product } from "./rung.js";

const run = promisify(execFile);
const TOPIC = "orders";

const WARNINGS = 6;
/** Kinds of lines of the broker's log that show what it went through. */
const TOLD: Readonly<Record<string, string>> = {
  "segment.rolled": "segments rolled",
  "segment.removed": "segments removed by retention",
  "recovery.torn": "torn ends cut",
};
const isWarning = ({ level }: LogLine): boolean => level !== "info" && level !== "debug";

export class Episode {
  readonly plan: EpisodeSettings;
  readonly history: History;
  readonly target: LoadTarget;
  readonly address = new Address();
  broker: BrokerProcess | undefined;
  #load: Load | undefined;
  readonly #warned: LogLine[] = [];
  #heeded: BrokerProcess | undefined;
  #settings: Settings;

  constructor(
    readonly product: Product,
    readonly dataDir: string,
    readonly random: Random,
    readonly options: StartOptions = {},
  ) {
    this.plan = episodeSettings(random.fork("settings"), dataDir, TOPIC);
    this.#settings = this.plan.settings;
    const { partitions, visibility, retention, recordFormat } = this.plan;
    this.history = new History({ partitions, visibility, retention });
    this.target = { product, topic: TOPIC, recordFormat, history: this.history };
  }

  /** What the next start gets, over what it has. */
  change(settings: Settings): void {
    this.#settings = { ...this.#settings, ...settings };
  }

  /** What brokers of this episode warned of, the last words of each. */
  get warnings(): string {
    this.#heed();
    return this.#warned
      .slice(-WARNINGS)
      .map(({ msg }) => msg)
      .join("; ");
  }

  /** What brokers of this episode told of, by kind. */
  readonly told: Record<string, number> = Object.fromEntries(Object.values(TOLD).map((what) => [what, 0]));

  /** Takes up what the broker has told so far; each once. */
  #heed(): void {
    const { broker } = this;
    if (broker === undefined || this.#heeded === broker) return;
    this.#heeded = broker;
    for (const line of broker.lines) {
      if (isWarning(line)) this.#warned.push(line);
      const what = TOLD[line.kind ?? ""];
      if (what !== undefined) this.told[what]++;
    }
  }

  get settings(): Settings {
    return this.#settings;
  }

  /** Starts the broker, and the load with the first one. */
  async start(): Promise<BrokerProcess> {
    this.#heed();
    const broker = await BrokerProcess.start(this.product, this.#settings, this.options);
    this.broker = broker;
    this.history.restarted();
    this.address.is(broker.port);
    const { random, plan } = this;
    const load = (): Load =>
      startLoad(this.target, this.address, random.fork("load"), mixedLoad(random.fork("plan"), plan.partitions, plan));
    this.#load ??= load();
    return broker;
  }

  cutOne(): void {
    this.#load?.cutOne(this.random);
  }

  async kill(): Promise<void> {
    this.address.is(undefined);
    this.history.killed();
    await this.broker?.kill();
  }

  /** The clean stop. A stop that is none throws. */
  async stop(): Promise<void> {
    const broker = this.broker;
    if (broker === undefined) return;
    const ended = await broker.stop();
    this.address.is(undefined);
    if (ended.code !== 0) throw new Error(`the stop ended with ${shownEnd(ended)}: ${broker.stderr.slice(-2000)}`);
  }

  /** The load's end, a clean stop, a last start: the whole log is read and judged, and its files are. */
  async judge(): Promise<Verdict> {
    await this.#load?.stop();
    await this.stop();
    // Or the log's beginning goes away while it is read.
    this.change({ "retention.bytes": "none", "retention.ms": "none" });
    const broker = await this.start();
    const logs = await readLogs(this.target, broker.port);
    await this.stop();
    this.#heed();
    await this.#verify();
    const verdict = checkHistory(this.history, logs);
    return { ...verdict, counts: { ...verdict.counts, ...this.told } };
  }

  /** The command finds nothing wrong with what a clean stop left. */
  async #verify(): Promise<void> {
    const cli = join(this.product.dist, "cli.js");
    try {
      await run(process.execPath, [cli, "verify", this.dataDir], { maxBuffer: 1 << 26 });
    } catch (error) {
      const { stdout, stderr } = error as { stdout?: string; stderr?: string };
      throw new Error(`verify after a clean stop: ${stdout?.slice(-1000)} ${stderr?.slice(-1000)}`);
    }
  }

  /** Whatever happened, nothing of it runs any more. */
  async end(keep: boolean): Promise<void> {
    this.address.is(undefined);
    if (this.broker !== undefined && this.broker.ended === undefined) await this.broker.kill();
    await this.#load?.stop().catch(() => undefined);
    if (!keep) await rm(this.dataDir, { recursive: true, force: true });
  }
}
