// Clients that ask for much and read nothing, against a broker that may hold little: they fill its bound, which must not keep the bystander from being read until
// `connection.write.stall.ms`. Some can only be closed, some can be kept from asking: those whose answers wait for records owe nothing.

import { BrokerProcess, type Settings } from "../../lib/broker-process.js";
import { sleep } from "../../lib/history/worker.js";
import type { Random } from "../../lib/random.js";
import type { Skipped, Stage } from "../../lib/rung.js";
import { Bystander, topics } from "./bystander.js";
import { Crowd, type CrowdJob } from "./crowd.js";

/** Three seconds, and what a busy machine makes of them. Far less than the clients stay, and than the stall that would close them. */
export const UNREAD_MS = 10_000;
/** From when nobody is read: who is kept from it until they go has waited for too long. */
const STAY_MS = 2 * UNREAD_MS;
/** The sockets of each take some MiB before anything waits, which takes some seconds. */
const FILLS_MS = 60_000;
const LOOKS_EVERY_MS = 100;
/** An answer of METADATA about so many partitions takes more than thirty KiB. */
export const PARTITIONS = 1_000;
export const WIDE = "wide";

type Part = Pick<CrowdJob, "play" | "count">;
interface Round {
  readonly parts: readonly Part[];
  /** They stay until the bound was full, and from then on; else from when the first of them come. */
  readonly fills: boolean;
  readonly stayMs: number;
}
const rounds: readonly Round[] = [
  // Few, so that their sockets are full soon.
  { parts: [{ play: "unread descriptions", count: 50 }], fills: true, stayMs: STAY_MS },
  // What waits goes on waiting when its client has gone and nobody is read.
  {
    parts: [
      { play: "unread fetches", count: 150 },
      { play: "unread waits", count: 150 },
    ],
    fills: false,
    stayMs: 8_000,
  },
];

export const wideTopics = `${topics},${WIDE}:${PARTITIONS}`;

const unreadSettings = {
  topics: wideTopics,
  "segment.bytes": "1MiB",
  "max.frame.bytes": "256KiB",
  "connection.queued.bytes.max": "256KiB",
  "queued.bytes.max": "1MiB",
  "connection.write.stall.ms": "60s",
} as const;

/** Answers a row of the table of crowds. */
export async function unread(
  stage: Stage,
  settings: Settings,
  random: Random,
  fail: (what: string) => void,
  skip: (skipped: Skipped) => void,
): Promise<string> {
  const broker = await BrokerProcess.start(stage.product, { ...settings, ...unreadSettings });
  try {
    const bystander = await Bystander.begin(stage.product, broker.port, random.fork("bystander of the unread"));
    for (const { parts, fills, stayMs } of rounds) {
      const crowds = parts.map((part) =>
        Crowd.begin(stage.root, { ...part, port: broker.port, seed: random.int(0, 1e9) }),
      );
      // Also before all of them are there: the first ones may fill the bound.
      if (fills && !(await isPaused(broker))) {
        const why = `nothing was paused within ${FILLS_MS / 1000} s`;
        skip({ what: `reading nothing until queued.bytes.max is full (${parts.map(({ play }) => play).join()})`, why });
      }
      await sleep(stayMs);
      await Promise.all(crowds.map((crowd) => crowd.end()));
    }
    // Also what was asked while they were there and is answered when they have gone.
    const verdict = await bystander.judge();
    const { longest, middle, asked } = bystander.taken();
    for (const { rule, what } of verdict.violations.slice(0, 3))
      fail(`beside clients that read nothing: ${rule}: ${what}`);
    if (longest > UNREAD_MS || asked === 0)
      fail(`beside clients that read nothing the bystander's longest answer took ${Math.round(longest)} ms`);
    await broker.stop();
    const shown = rounds.flatMap(({ parts }) => parts).reduce((sum, { count }) => sum + count, 0);
    stage.progress(`reading nothing: ${shown}; bystander ${middle.toFixed(1)} ms, longest ${longest.toFixed(0)} ms`);
    return `| reading nothing, at a bound of 1 MiB | ${shown} | ${middle.toFixed(1)} ms | ${longest.toFixed(0)} ms |`;
  } finally {
    if (broker.ended === undefined) await broker.kill();
  }
}

/** Whether the broker says in time that it has stopped reading. */
async function isPaused(broker: BrokerProcess): Promise<boolean> {
  const until = performance.now() + FILLS_MS;
  while (!broker.lines.some(({ kind }) => kind === "connections.paused")) {
    if (performance.now() > until) return false;
    await sleep(LOOKS_EVERY_MS);
  }
  return true;
}
