// What profiles of the produce and the fetch path showed to be dear, and what came of taking it out: figures of the days on which it was done, each
// out of one comparison with the sources before, in turns. They are not of the run that is shown; docs/decisions.md has them at length.

export interface Improvement {
  readonly path: "PRODUCE" | "FETCH";
  /** What it was that cost so much, and what was done. */
  readonly cost: string;
  readonly before: string;
  readonly after: string;
  /** Load and measure. */
  readonly measured: string;
}

const PIPELINED = "MAPPED, crc32c, WRITTEN, one connection, 256 × 10 × 128 B in flight";
const FETCHED = "`sendfile`, 64 KiB, one connection, 8 in flight";

export const improvements: readonly Improvement[] = [
  {
    path: "PRODUCE",
    cost: "fresh pages came in one at a time, each by a fault of the loop that read a hole first: blocks are filled ahead of a fast writer, in pieces of 64 KiB",
    before: "580 000–905 000 requests/s, p99.9 19–27 ms",
    after: "1 480 000–1 705 000 requests/s, p99.9 4.2–5.3 ms",
    measured: `${PIPELINED}; four rounds in turns, the case of \`npm run bench -- produce-pipelined\``,
  },
  {
    path: "PRODUCE",
    cost: "pages were zeroed a second time, since the system read ahead of what was filled: it is told not to",
    before: "29 % of the filling threads' time",
    after: "none",
    measured: `${PIPELINED}; \`perf record -g\``,
  },
  {
    path: "PRODUCE",
    cost: "sums were made step by step: by carry-less multiplication of four lanes where the processor can, copying as they go",
    before: "81 ns for ten records of 128 B",
    after: "39–50 ns",
    measured: "in the processor's cache",
  },
  {
    path: "PRODUCE",
    cost: "a slow writer's fault brought in as much as the disk reads ahead, and the loop zeroed it: pages are cached ahead by a thread",
    before: "p99 26–33 ms, p99.9 45 ms",
    after: "p99 3.6–6.1 ms, p99.9 8–20 ms",
    measured: "MAPPED, WRITTEN, 64 connections, open loop of 86 500 records/s",
  },
  {
    path: "FETCH",
    cost: "where the system uses bbr each packet on loopback waited for a timer: a listener there asks for reno",
    before: "1.7 GB/s, 0.70 s of processor time for a GiB",
    after: "3.9 GB/s, 0.26 s",
    measured: "`sendfile`, 64 KiB, 8 connections, 4 in flight each; in turns",
  },
  {
    path: "FETCH",
    cost: "four `preadv2` and a `cachestat` for each answer, to find the record and to know that its pages are there: neighbours are asked for once",
    before: "0.240–0.249 s of processor time for a GiB",
    after: "0.199–0.212 s, with what follows; 1.5 `preadv2` and a quarter of a `cachestat`",
    measured: `${FETCHED}; the fifth of samples of 0.2 s, in turns, that took least`,
  },
  {
    path: "FETCH",
    cost: "every fourth answer left in two packets, cut by its connection's share of a turn: one that a quarter more ends is not cut",
    before: "1.25 `sendfile` for each answer",
    after: "1",
    measured: `${FETCHED}; \`strace -c\``,
  },
];

export const PROFILES =
  "The largest costs that profiles of the two paths showed, and what taking them out brought. Each was measured when it was done, beside the sources before; " +
  "these are not figures of the run above.";

export const PROFILES_MORE = "What is left of both paths, and why, is in [decisions.md](decisions.md).";
