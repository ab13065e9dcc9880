// Rung 9: many clients, and such as do not behave.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BrokerProcess, faultSettings, type Settings } from "../../lib/broker-process.js";
import { productOf } from "../../lib/product.js";
import { Random } from "../../lib/random.js";
import { type Failure, type Rung, type RungResult, replayOf, type Skipped, type Stage } from "../../lib/rung.js";
import { Bystander, topics } from "./bystander.js";
import { few } from "./few.js";
import { samplesSvg } from "./picture.js";
import { judgeGrowth, LIMITS, Play, type Watch } from "./play.js";
import { UNREAD_MS, unread } from "./unread.js";

/** For continuous integration. */
const SECONDS = 100;
const CONNECTIONS = 10_000;
/** Beside connections: segments, the addon, Node. */
const DESCRIPTORS_ELSE = 200;
const PICTURE = "load.svg";

const about = `
One real broker, crowds of clients in processes of their own: ${CONNECTIONS} connections that ask now and then or wait; writers that send a byte at a time; readers that ask for everything and take nothing; half a frame
and nothing more; the end of input while an answer is owed; no length at all; storms of 500 connections at once; a client that opens and drops, in the middle of requests, gently and by a reset (50 000 times by hand, 10 000 in continuous
integration). A bystander appends and reads all the while, and writes everything down. First a few, each by itself: half a frame, a byte now and then, nothing at all, no end after a refusal, which the clocks must end and which the one that waits for records must outlive; four that ask as fast as they can and take nothing, for each of which no more than \`connection.queued.bytes.max\` may wait; large frames in two parts, more of them than there is room for, which all must be answered. Then such as ask for much and read nothing, against a broker that may hold one MiB; then each crowd by itself, then all of them at once for the rest of the time, \`--seconds\` or three minutes.

Every append and read of the bystander is answered within ${LIMITS.latencyMs} ms, beside those who read nothing within ${UNREAD_MS}, where \`connection.write.stall.ms\` is a minute; by its [history](#history) nothing is lost. More connections than \`connections.max\` are not taken, queued bytes stay below \`queued.bytes.max\`. When a
crowd has gone, the gauges are where they were (connections, bytes queued, fetches that wait), and so are descriptors, give or take ${LIMITS.descriptors}; memory of its own (RssAnon) is no higher at its low points in the last third of the time than in the
second, give or take ${LIMITS.memoryBytes / 1024 / 1024} MiB.
`.trim();

export const load: Rung = {
  name: "load",
  title: "ten thousand connections, and clients that do not behave",
  headline: ["connections at once", "batches sent", "records acknowledged"],
  proves: "records acknowledged",
  about,
  unfit: async () => (process.platform === "linux" ? undefined : "it reads memory and descriptors in /proc"),
  run,
};

export const brokerSettings = (dataDir: string, connections: number): Settings => ({
  ...faultSettings(dataDir),
  topics,
  "segment.bytes": "64MiB",
  "ops.enabled": true,
  "ops.port": 0,
  "connections.max": connections,
  "queued.bytes.max": LIMITS.queuedBytes,
  "frame.timeout.ms": "2s",
  "connection.write.stall.ms": "3s",
});

async function run(stage: Stage): Promise<RungResult> {
  const { product, directory, seed } = stage;
  const seconds = stage.seconds ?? (stage.rounds ?? 1) * SECONDS;
  const dataDir = join(directory, "data");
  await mkdir(dataDir);
  const skipped: Skipped[] = [];
  // A broker that had fewer descriptors would refuse to start.
  const connections = Math.min(CONNECTIONS, (await descriptorsLimit()) - DESCRIPTORS_ELSE - LIMITS.knocking);
  if (connections < CONNECTIONS) {
    const why = `a process may have ${connections + DESCRIPTORS_ELSE + LIMITS.knocking} descriptors here`;
    skipped.push({ what: `${CONNECTIONS - connections} of ${CONNECTIONS} connections`, why });
  }
  const failures: Failure[] = [];
  const fail = (what: string): void => {
    if (failures.length < 10) failures.push({ what, replay: replayOf("load", stage) });
    stage.progress(what);
  };
  const random = new Random(seed);
  const began = performance.now();
  const [unreadDir, ...fewDirs] = ["unread", "clocks", "gathers"].map((name) => join(directory, name));
  for (const dir of [unreadDir, ...fewDirs]) await mkdir(dir);
  // A product that is broken in one place need not be tried in all.
  const broken = (): RungResult => ({ counts: {}, losses: 0, failures, skipped });
  await few(stage, brokerSettings("", connections), [fewDirs[0], fewDirs[1]], fail);
  if (failures.length > 0) return broken();
  const ofUnread = await unread(stage, brokerSettings(unreadDir, connections), random, fail, (each) =>
    skipped.push(each),
  );
  if (failures.length > 0) return broken();
  const broker = await BrokerProcess.start(product, brokerSettings(dataDir, connections));
  try {
    const bystander = await Bystander.begin(product, broker.port, random.fork("bystander"));
    const watch: Watch = { broker, bystander, fail, progress: stage.progress, began };
    const play = new Play(stage.root, watch, random.fork("crowds"));
    await play.each({ connections, drops: seconds > SECONDS ? 50_000 : 10_000 });
    if (failures.length === 0) await play.together(seconds);
    judgeGrowth(play.low.slice(play.alikeFrom), fail);
    const verdict = await bystander.judge();
    for (const { rule, what } of verdict.violations.slice(0, 3)) fail(`${rule}: ${what}`);
    const ended = await broker.stop();
    if (ended.code !== 0) fail(`the stop ended with ${ended.code ?? ended.signal}: ${broker.stderr.slice(-500)}`);
    const picture = samplesSvg(play.samples, [...play.begins.values()], "A broker under load over time");
    // A broken build's is no picture of this one.
    const own = product.dist === productOf(stage.root).dist;
    await writeFile(join(own ? join(stage.root, ".cache/faults") : directory, PICTURE), picture);
    return {
      counts: { ...play.counts, ...verdict.counts },
      losses: verdict.losses,
      failures,
      skipped,
      notes: [
        `![Memory, descriptors, connections and queued bytes over time](${PICTURE})`,
        "",
        `The lines: ${[...play.begins.keys()].map((name, at) => `${at + 1} ${name}`).join(", ")}. Memory is judged behind the last of them, where all rounds are alike: V8 lets its heap grow with what it is asked, and the crowds before ask for less.`,
        "",
        ...play.notes,
        ofUnread,
      ],
    };
  } finally {
    if (broker.ended === undefined) await broker.kill();
  }
}

/** Node raises its soft limit to the hard one, the broker as well as the crowds. */
async function descriptorsLimit(): Promise<number> {
  const limits = await readFile("/proc/self/limits", "utf8");
  return Number(/Max open files\s+\d+\s+(\d+)/.exec(limits)?.[1] ?? CONNECTIONS);
}
