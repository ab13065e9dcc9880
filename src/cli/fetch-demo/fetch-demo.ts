// `millrace fetch-demo`: what a waiting fetch does, seen on a partition directory without a server. Which cases there are and
// what each must show is in rounds.ts.

import { readdir } from "node:fs/promises";
import type { Command } from "commander";
import type { Log } from "../../log/embedded.js";
import { OFFSET_MAX } from "../../model/limits.js";
import { counted } from "../../model/plural.js";
import { duration, integer } from "../../ops/settings/kinds.js";
import { Failed } from "../failure.js";
import { helpText } from "../help.js";
import type { Io } from "../io.js";
import { StoppedBySignal, type StopSignal, Waiting } from "../stop.js";
import { option, path } from "../values.js";
import { playRounds, ROUNDS, roundText } from "./rounds.js";

interface FetchDemoOptions {
  readonly dir: string;
  readonly fetchOffset?: number;
  readonly minRecords: number;
  readonly maxWaitMs: number;
  readonly steps: number;
  readonly json?: boolean;
}

const MIN_RECORDS = 2;
const MAX_WAIT_MS = 500;
/** A quarter of it passes before a round's producer writes, and that must be seen before the rest is over. */
const SHORTEST_WAIT_MS = 50;
/** Rounds 3 and 4 write twice as many and one: more would not fit what is left of the demo's last segment, and an answer ends there. */
const MIN_RECORDS_MAX = 64;

/** What an empty directory is filled with: three such records make a segment. */
const START_RECORDS = 7;
const START_RECORD_BYTES = 1300;
const START_SEGMENT_BYTES = 4096;
/** What a partition that was just made, or was about to be, may have in its directory. */
const NO_RECORDS = new Set([".lock"]);

const EXAMPLES = `
Four rounds: an older segment never waits; at the end a fetch waits and times out; records that are there are brought at once;
records that come during the wait end it. Each is told as it was seen, or the verb fails.

An empty DIR is made into a partition with seven records, in segments that begin at 0, 3 and 6. Rounds 3 and 4 append to it. It
must not be a partition that somebody else has open.

Examples:
  $ millrace fetch-demo --dir "$(mktemp -d)" --fetch-offset 7 --min-records 2 --max-wait-ms 500 --steps 4
  $ millrace fetch-demo --dir ./demo --json | jq 'select(.round == 2) | {parked, timedOut, bytes}'
`;

export function fetchDemoCommand(program: Command, io: Io): void {
  program
    .command("fetch-demo")
    .summary("see what a waiting fetch does")
    .description("Play four rounds of a waiting fetch on a partition directory, without a broker.")
    .requiredOption("--dir <dir>", "the partition's directory; an empty one is filled", path)
    .addOption(
      option("--fetch-offset <n>", "where rounds 2 and 3 read (default: the log's end)", integer(0, OFFSET_MAX)),
    )
    .addOption(option("--min-records <n>", "what is enough for an answer", integer(1, MIN_RECORDS_MAX), MIN_RECORDS))
    .addOption(
      option("--max-wait-ms <ms>", "how long a fetch waits for it", duration(SHORTEST_WAIT_MS, 3_600_000), MAX_WAIT_MS),
    )
    .addOption(option("--steps <n>", "play so many rounds", integer(1, ROUNDS), ROUNDS))
    .option("--json", "print a JSON value a line")
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((options: FetchDemoOptions) => fetchDemo(options, io));
}

async function fetchDemo(options: FetchDemoOptions, io: Io): Promise<void> {
  const waiting = new Waiting();
  let signal: StopSignal | undefined;
  const unheard = io.onStopSignal((which) => {
    signal ??= which;
    waiting.interrupt();
  });
  const log = await openDemoLog(options.dir).catch((error: unknown) => {
    unheard();
    throw error;
  });
  let played = 0;
  const print = (text: string) => io.stdout.write(Buffer.from(text));
  try {
    const start = { logEndOffset: log.logEndOffset, segments: log.segments().map(({ baseOffset }) => baseOffset) };
    const startText = `log end ${start.logEndOffset}, segments at ${start.segments.join(", ")}`;
    await print(`${options.json ? JSON.stringify({ start }) : startText}\n`);
    const { fetchOffset = start.logEndOffset, minRecords, maxWaitMs } = options;
    const playing = playRounds(log, options.steps, { fetchOffset, minRecords, maxWaitMs });
    for (;;) {
      // A round that is stopped while it waits is not claimed; closing the log ends its wait.
      const next = await waiting.for(playing.next());
      if (signal !== undefined)
        throw new StoppedBySignal(signal, [`played ${played} of ${counted(options.steps, "round")}`]);
      if (next === undefined || next.done) break;
      const round = next.value;
      const text = options.json ? JSON.stringify(round) : `round ${round.round}: ${round.what}: ${roundText(round)}`;
      await print(`${text}\n`);
      played++;
    }
  } finally {
    unheard();
    await log.close();
  }
}

async function openDemoLog(dir: string): Promise<Log> {
  // Only here: the verbs that talk to a broker need neither the addon nor the time to load it.
  const { openLog } = await import("../../log/embedded.js");
  const names = await namesIn(dir);
  if (names.includes("partition.json")) return openLog(dir, { diskReserveBytes: 0 });
  if (names.some((name) => !NO_RECORDS.has(name))) {
    throw new Failed(`${dir} is no partition and not empty: expected a partition's directory, or an empty one`);
  }
  const log = await openLog(dir, { segmentBytes: START_SEGMENT_BYTES, diskReserveBytes: 0 });
  for (let n = 0; n < START_RECORDS; n++) {
    const record = Buffer.from(`record ${n} `.padEnd(START_RECORD_BYTES, "."));
    await log.append(record, { ack: "written" });
  }
  return log;
}

async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return [];
    if (code === "ENOTDIR")
      throw new Failed(`${dir} is no directory: expected a partition's directory, or an empty one`);
    throw error;
  }
}
