// The crowds one by one and all together, what the broker holds meanwhile, and whether it lets go of it after.

import type { BrokerProcess } from "../../lib/broker-process.js";
import { sleep } from "../../lib/history/worker.js";
import type { Random } from "../../lib/random.js";
import type { Bystander } from "./bystander.js";
import { Crowd, type CrowdJob } from "./crowd.js";
import { type Sample, sampleOf } from "./sample.js";

const MiB = 1024 * 1024;

export const LIMITS = {
  /** Two cores for the broker, the crowds and all else that runs take their part of it: 14 s were seen on a machine with twelve times the work it can do. */
  latencyMs: 20_000,
  /** As `queued.bytes.max` of the broker. */
  queuedBytes: 64 * MiB,
  /** The broker's bound counts what it holds; a turn's worth may come on top. */
  queuedSlackBytes: 16 * MiB,
  /** Of what the bystander has under way. Five thousand requests whose slots were forgotten are 300 KiB. */
  leftBytes: 128 * 1024,
  /** So many more than `connections.max` knock, and wait until others go. */
  knocking: 200,
  descriptors: 8,
  memoryBytes: 24 * MiB,
} as const;

const SAMPLE_MS = 1000;
/** Until a crowd has gone from every gauge: those who take nothing are closed after three seconds. */
const GONE_MS = 30_000;
/** All at once go on for so long, then there is a low point. */
const TOGETHER_MS = 12_000;

export interface Watch {
  readonly broker: BrokerProcess;
  readonly bystander: Bystander;
  readonly fail: (what: string) => void;
  readonly progress: (text: string) => void;
  readonly began: number;
}

type Part = Pick<CrowdJob, "play" | "count">;

export class Play {
  readonly samples: Sample[] = [];
  /** When a crowd of a kind began that had not been there before, by name. */
  readonly begins = new Map<string, number>();
  /** When the crowds had gone. */
  readonly low: Sample[] = [];
  /** Where in it the rounds begin that are all alike. */
  alikeFrom = 0;
  readonly counts: Record<string, number> = {};
  readonly notes: string[] = ["| crowd | how many | bystander, middle | longest |", "|---|--:|--:|--:|"];
  #base: Sample | undefined;

  constructor(
    readonly root: string,
    readonly watch: Watch,
    readonly random: Random,
  ) {}

  async each({ connections, drops }: { connections: number; drops: number }): Promise<void> {
    // Whatever is made at the first time is there for good.
    await this.#crowds([{ play: "storm", count: 1 }], "warm up", 0);
    const many = connections + LIMITS.knocking;
    await this.#crowds([{ play: "hold", count: many }], `${many} connections`, 5000);
    const most = Math.max(...this.samples.map((sample) => sample.connections));
    this.#count("connections at once", most);
    if (most !== connections) this.watch.fail(`of ${connections} connections that are allowed it had ${most}`);
    await this.#crowds([{ play: "slow writers", count: 300 }], "slow writers", 4000);
    await this.#crowds([{ play: "slow readers", count: 200 }], "slow readers", 6000);
    await this.#crowds([{ play: "half open", count: 100 }], "half open", 4000);
    await this.#crowds([{ play: "storm", count: 8 }], "storms of 500", 0);
    await this.#crowds([{ play: "drops", count: drops }], "opened and dropped", 0);
  }

  /** More than it takes, and everything at once; again and again until the time is over. */
  async together(seconds: number): Promise<void> {
    const until = this.watch.began + seconds * 1000;
    this.alikeFrom = this.low.length;
    do {
      const all: Part[] = [
        { play: "hold", count: 1000 },
        { play: "slow writers", count: 100 },
        { play: "slow readers", count: 100 },
        { play: "half open", count: 30 },
        { play: "storm", count: 1e9 },
        { play: "drops", count: 1e9 },
      ];
      await this.#crowds(all, "all at once", TOGETHER_MS);
    } while (performance.now() < until);
  }

  async #crowds(parts: readonly Part[], name: string, forMs: number): Promise<void> {
    const { watch, random } = this;
    this.#base ??= await this.#sample();
    watch.bystander.taken();
    const first = this.samples.length - 1;
    if (!this.begins.has(name)) this.begins.set(name, this.samples[first].at);
    let over = false;
    const sampling = (async () => {
      while (!over) {
        await this.#sample();
        await sleep(SAMPLE_MS);
      }
    })().catch((error: unknown) => watch.fail(`while ${name}: ${String(error)}`));
    const begin = (part: Part): Crowd =>
      Crowd.begin(this.root, { ...part, port: watch.broker.port, seed: random.int(0, 1e9) });
    const crowds = parts.map(begin);
    const counts = await Promise.all(crowds.map((crowd) => crowd.ready()));
    await sleep(forMs);
    const done = await Promise.all(crowds.map((crowd) => (forMs > 0 ? crowd.end() : crowd.done())));
    await this.#gone(name);
    over = true;
    await sampling;
    const { longest, middle, asked } = watch.bystander.taken();
    if (watch.bystander.failure !== undefined) throw watch.bystander.failure;
    const most = Math.max(...this.samples.slice(first).map(({ queuedBytes }) => queuedBytes));
    if (longest > LIMITS.latencyMs || asked === 0) {
      watch.fail(
        `while ${name}: the bystander asked ${asked} times, and the longest answer took ${Math.round(longest)} ms, with ${most} bytes queued at most`,
      );
    }
    for (const [at, { play }] of parts.entries()) {
      this.#count(`${play}: connections`, play === "hold" || play.startsWith("slow") ? counts[at] : done[at]);
    }
    this.#count("requests of bystanders", asked);
    const shown = done.map((number, at) => Math.max(number, counts[at])).reduce((a, b) => a + b, 0);
    this.notes.push(`| ${name} | ${shown} | ${middle.toFixed(1)} ms | ${longest.toFixed(0)} ms |`);
    watch.progress(`${name}: ${done.join(", ")}; bystander ${middle.toFixed(1)} ms, longest ${longest.toFixed(0)} ms`);
  }

  async #sample(): Promise<Sample> {
    const { broker, began, fail } = this.watch;
    if (broker.ended !== undefined) throw new Error(`the broker ended: ${broker.stderr.slice(-2000)}`);
    const sample = await sampleOf(broker, (performance.now() - began) / 1000);
    this.samples.push(sample);
    if (sample.queuedBytes > LIMITS.queuedBytes + LIMITS.queuedSlackBytes)
      fail(`${sample.queuedBytes} bytes are queued`);
    return sample;
  }

  /** Everything that clients brought is gone with them. */
  async #gone(name: string): Promise<void> {
    const base = this.#base!;
    const until = performance.now() + GONE_MS;
    let now = await this.#sample();
    // The bystander's own come and go.
    const isLike = (sample: Sample): boolean =>
      sample.connections <= base.connections &&
      sample.queuedBytes <= base.queuedBytes + LIMITS.leftBytes &&
      sample.waitingFetches <= Math.max(1, base.waitingFetches) &&
      sample.descriptors <= base.descriptors + LIMITS.descriptors;
    while (!isLike(now) && performance.now() < until) {
      await sleep(200);
      now = await this.#sample();
    }
    if (!isLike(now))
      this.watch.fail(`after ${name} it holds ${JSON.stringify(now)}, and before ${JSON.stringify(base)}`);
    this.low.push(now);
  }

  #count(what: string, by: number): void {
    this.counts[what] = (this.counts[what] ?? 0) + by;
  }
}

const lowest = (samples: readonly Sample[]): number => Math.min(...samples.map(({ memory }) => memory));

/** Of the low points of the last third the lowest against the lowest of the one before: what grows with each round shows there. */
export function judgeGrowth(low: readonly Sample[], fail: (what: string) => void): void {
  const third = Math.floor(low.length / 3);
  if (third < 1) return;
  const [before, after] = [lowest(low.slice(-2 * third, -third)), lowest(low.slice(-third))];
  if (after > before + LIMITS.memoryBytes) {
    const shown = low.map(({ memory }) => Math.round(memory / MiB)).join(", ");
    fail(`memory grows round by round: ${shown} MiB at its low points`);
  }
}
