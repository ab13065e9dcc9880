// The command line of the bench. Plain JavaScript that needs nothing of this checkout, so that --help and a wrong option are answered
// before anything is compiled, bundled or written.

import { parseArgs } from "node:util";

export class UsageError extends Error {
  name = "UsageError";
}

/** Titles by name, in the order of questions.ts, which has them, too: a test keeps both the same. */
export const QUESTIONS = {
  append: "Append, the addon alone",
  "append-sizes": "Append, by size of record and batch",
  "append-flush": "Append and force, the addon alone",
  writer: "Append through the partition writer",
  "produce-pipelined": "PRODUCE, one connection, 256 requests in flight",
  "produce-connections": "PRODUCE, 64 connections, one request each in flight",
  "wire-produce": "PRODUCE end to end, by connections and depth",
  "client-producer": "What a record costs that a program sends",
  fetch: "FETCH of 64 KiB from the page cache",
  "wire-fetch": "FETCH end to end, by connections and depth",
  "client-consumer": "The client reading a topic, in records of 1 KiB and of 128 bytes",
  forced: "PRODUCE, forced to disk",
  "group-commit": "Group commit over partitions",
  latency: "Latency at a quarter, a half and three quarters of the ceiling",
  sustained: "A minute of sustained writing",
  sums: "What sums cost",
  waiting: "Fetches that wait",
  "idle-requests": "A consumer that has caught up",
  "cold-reader": "PRODUCE beside a reader of cold data",
  "metrics-cost": "What metrics cost",
  recovery: "Recovery scan",
  start: "Start to the ready line",
};

export const PEERS = ["redis", "nats", "kafka"];

const OPTIONS = {
  quick: { type: "boolean", default: false },
  full: { type: "boolean", default: false },
  check: { type: "boolean", default: false },
  record: { type: "boolean", default: false },
  rounds: { type: "string" },
  dir: { type: "string" },
  "no-report": { type: "boolean", default: false },
  fetch: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
};

/** Behind what is wrong with a command line. */
export const HINT = "npm run bench -- --help says what there is";

export function usage() {
  return [
    "npm run bench -- [names…] [--quick | --full] [--rounds N] [--dir DIRECTORY] [--no-report]",
    "npm run bench -- --check | --record [names…]",
    "npm run bench -- report FILE.json [MORE.json…] [--no-report]",
    `npm run bench -- peers [${PEERS.join("] [")}] [--fetch]`,
    "",
    "  --quick      fewer and shorter samples, fewer cases",
    "  --full       whole matrices: hours",
    "  --rounds N   samples of each side (7; 5 of peers; 2 with --quick; 3 with --check and --record)",
    "  --dir        where data is written (.cache/bench/data); not in memory",
    "  --no-report  leaves docs/ as it is",
    "  --check      what CI runs: quick, fails when a ratio to the floor is under a third of the recorded one",
    "  --record     writes the ratios of a quick run into bench/recorded-ratios.json",
    "  report       pages of results that there are; sections of later files take the place of those of earlier ones;",
    "               into docs/ when all questions are in them, else beside the first file",
    "  peers        beside other brokers, into docs/peers.md; --fetch only gets them, into .cache/peers",
    "  -h, --help   this",
    "",
    "Exit code: 0 done, also where peers were skipped that are not here; 1 something failed; 2 it cannot be done so: a wrong option, a",
    "directory that does not fit, no compiler; 128 and the signal's number when a signal ended it.",
    "",
    ...Object.entries(QUESTIONS).map(([name, title]) => `  ${name.padEnd(20)} ${title}`),
  ].join("\n");
}

/** Which options a command knows; with another one it would do something else than was meant. */
const KNOWN = {
  report: ["no-report"],
  fetch: ["fetch"],
  peers: ["quick", "rounds", "dir", "no-report", "fetch"],
};

/** What is asked for. Throws UsageError. */
export function parseCommandLine(argv) {
  const { values, positionals } = parsed(argv);
  const [first, ...rest] = positionals;
  if (values.help) return { command: "help" };
  if (first === "report") {
    refuseOthers("report", values);
    if (rest.length === 0) throw new UsageError("report: which FILE.json?");
    return { command: "report", files: rest, report: !values["no-report"] };
  }
  if (first === "peers") return peers(values, rest);
  if (values.fetch) throw new UsageError("--fetch: of peers only");
  const { check, record, full } = values;
  const unknown = positionals.filter((name) => !Object.hasOwn(QUESTIONS, name));
  if (unknown.length > 0) throw new UsageError(`there is no question ${unknown.join(", ")}`);
  if (check && record)
    throw new UsageError("--check and --record: one of them, or what is compared with would be what was just measured");
  const quick = values.quick || check || record;
  if (quick && full) throw new UsageError("--full: not beside --quick, --check or --record");
  const rounds = roundsOf(values, check || record ? 3 : quick ? 2 : 7);
  const names = positionals.length === 0 ? Object.keys(QUESTIONS) : positionals;
  return {
    command: "run",
    names,
    quick,
    full,
    check,
    record,
    rounds,
    directory: directoryOf(values),
    report: !values["no-report"],
  };
}

function peers(values, rest) {
  const unknown = rest.filter((name) => !PEERS.includes(name));
  if (unknown.length > 0) throw new UsageError(`there is no peer ${unknown.join(", ")}; there are ${PEERS.join(", ")}`);
  if (values.fetch) {
    refuseOthers("fetch", values);
    return { command: "fetch" };
  }
  refuseOthers("peers", values);
  const { quick } = values;
  const names = rest.length === 0 ? PEERS : rest;
  const rounds = roundsOf(values, quick ? 2 : 5);
  return { command: "peers", names, quick, rounds, directory: directoryOf(values), report: !values["no-report"] };
}

function parsed(argv) {
  try {
    return parseArgs({ args: [...argv], allowPositionals: true, options: OPTIONS });
  } catch (error) {
    // The rest of it is Node's advice for programs that take such options as names.
    throw new UsageError(error.message.split(/\. |\n/)[0]);
  }
}

function refuseOthers(command, values) {
  const given = Object.keys(values).filter((name) => values[name] !== undefined && values[name] !== false);
  const others = given.filter((name) => !KNOWN[command].includes(name));
  const what = command === "fetch" ? "peers --fetch" : command;
  if (others.length > 0) throw new UsageError(`${others.map((name) => `--${name}`).join(", ")}: not with ${what}`);
}

function roundsOf({ rounds }, usual) {
  const value = rounds === undefined ? usual : Number(rounds);
  if (!Number.isSafeInteger(value) || value < 1) throw new UsageError(`--rounds: ${rounds} is no number from 1`);
  return value;
}

function directoryOf({ dir }) {
  if (dir === "") throw new UsageError("--dir: which DIRECTORY?");
  return dir;
}
