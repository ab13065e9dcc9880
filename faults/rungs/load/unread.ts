// Clients that ask for much and read nothing, against a broker that may hold little: they fill its bound, which must not keep the bystander from being read until
// `connection.write.stall.ms`. Some can only be closed, some can be kept from asking: those whose answers wait for records owe nothing.

import { BrokerProcess, type Settings } from "../../lib/broker-process.js";
import { sleep } from "../../lib/history/worker.js";
import type { Random } from "../../lib/random.js";
import type { Stage } from "../../lib/rung.js";
import { Bystander, topics } from "./bystander.js";
import { Crowd, type CrowdJob } from "./crowd.js";

/** Three seconds, and what a busy machine makes of them. Far less than the clients stay, and than the stall that would close them. */
export const UNREAD_MS = 10_000;
/** An answer of METADATA about so many partitions takes more than thirty KiB. */
const PARTITIONS = 1_000;

type Part = Pick<CrowdJob, "play" | "count">;
interface Round {
  readonly parts: readonly Part[];
  readonly stayMs: number;
}
const rounds: readonly Round[] = [
  // Few, since the sockets of each take some MiB before anything waits, which takes some seconds.
  { parts: [{ play: "unread descriptions", count: 50 }], stayMs: 18_000 },
  // What waits goes on waiting when its client has gone and nobody is read.
  {
    parts: [
      { play: "unread fetches", count: 150 },
      { play: "unread waits", count: 150 },
    ],
    stayMs: 8_000,
  },
];

const unreadSettings = {
  topics: `${topics},wide:${PARTITIONS}`,
  "segment.bytes": "1MiB",
  "max.frame.bytes": "256KiB",
  "connection.queued.bytes.max": "256KiB",
  "queued.bytes.max": "1MiB",
  "connection.write.stall.ms": "30s",
} as const;

/** Answers a row of the table of crowds. */
export async function unread(
  stage: Stage,
  settings: Settings,
  random: Random,
  fail: (what: string) => void,
): Promise<string> {
  const broker = await BrokerProcess.start(stage.product, { ...settings, ...unreadSettings });
  try {
    const bystander = await Bystander.begin(stage.product, broker.port, random.fork("bystander of the unread"));
    for (const { parts, stayMs } of rounds) {
      const crowds = parts.map((part) =>
        Crowd.begin(stage.root, { ...part, port: broker.port, seed: random.int(0, 1e9) }),
      );
      // Before all of them are there: the first ones fill the bound.
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
