// Rung 8: bytes that nobody meant well with.

import { Random } from "../../lib/random.js";
import { type Rung, type RungResult, replayOf, type Skipped, type Stage } from "../../lib/rung.js";
import { tryDecoders } from "./decoders.js";
import { buildTargets, fuzz, whyNotFuzz } from "./fuzz.js";
import { playRequests } from "./requests.js";

/** For continuous integration, where 180 s are what it may take; the build of the fuzz targets comes on top. */
const SECONDS = 80;
/** Of them, for each part. */
const SHARES = { decoders: 0.15, requests: 0.4, native: 0.45 } as const;

const about = `
**Native code.** Five targets for libFuzzer, built from \`native/core\` with AddressSanitizer and UndefinedBehaviorSanitizer, each compared with a plain reference that is written apart: the frame cutter
(the same frames, stop and length, also for the stream in two parts, split at every byte); a connection's intake over a real socket (whatever comes in which pieces, however it is held back and taken
up again: exactly the stream's frames, and memory in proportion to what arrived); the walk over fetched records; the check of what a PRODUCE carries, with its index entries and the bytes
that it becomes; the scan of a segment and the walk in it. It starts from a corpus that is kept in the repository.

**Decoders in TypeScript**, of requests, answers, records, the envelope, checkpoints of brokers and of clients, indexes and \`partition.json\`: samples cut at every byte, each number of each width at its extremes at
every place, and random damage, with sums mended where there are any. Each takes it or throws its documented error; requests are taken exactly when a grammar that is written apart takes
them; what stands beside the bytes changes nothing; nothing is allocated that is not in proportion to them; nothing loops.

**A running broker** is sent valid requests of every kind and version, damaged ones, all of them in any pieces, on many connections at once. What each connection must answer is foreseen from
the bytes: the correlation ids in order, the error, no answer where there is none, the end of the connection exactly where a length cannot be. A producer and reader beside them is served correctly all the time; 120 connections
with frames that are never finished stay within \`queued.bytes.max\`; memory stays bounded; the log is not filled with lines; what was stored is whole; it stops cleanly. Its **side port** is asked oddly: it never
answers 500 and never shows its insides; who asks under another name, from another origin, for more than reading, for a second page before the first, in one connection too many or without an end is refused.
`.trim();

export const input: Rung = {
  name: "input",
  title: "bytes that make no sense, to every parser there is",
  headline: ["cases of decoders", "requests", "connections"],
  proves: "cases of decoders",
  about,
  unfit: () => Promise.resolve(process.platform === "linux" ? undefined : "it reads /proc"),
  run,
};

async function run(stage: Stage): Promise<RungResult> {
  const counts: Record<string, number> = {};
  const wrong: string[] = [];
  const skipped: Skipped[] = [];
  const random = new Random(stage.seed);
  const seconds = stage.seconds ?? SECONDS;
  const until = (share: number): number => performance.now() + seconds * share * 1000;
  const took = (part: { counts: Readonly<Record<string, number>>; wrong: readonly string[] }): void => {
    Object.assign(counts, part.counts);
    wrong.push(...part.wrong);
  };

  stage.progress("decoders");
  took(await tryDecoders(stage, until(SHARES.decoders)));
  // A product that is broken in one place need not be tried in all.
  if (wrong.length === 0) {
    stage.progress("requests to a broker");
    const bounds = { until: until(SHARES.requests), rounds: stage.rounds ?? Number.POSITIVE_INFINITY };
    took(await playRequests(stage, random.fork("requests"), bounds));
  }
  if (wrong.length === 0) {
    const why = await whyNotFuzz(stage.directory);
    if (why !== undefined) skipped.push({ what: "fuzzing of the native code", why });
    else {
      stage.progress("native code: building");
      const programs = await buildTargets(stage);
      stage.progress("native code: fuzzing");
      took(await fuzz(stage, programs, until(SHARES.native)));
    }
  }
  const failures = wrong.slice(0, 10).map((what) => ({ what, replay: replayOf("input", stage) }));
  return { counts, losses: 0, failures, skipped };
}
