// What was asked of millrace beside others before it was measured, each held against the figures of their page: see lib/goals.ts.

import { caseName } from "../lib/figures.js";
import { type Goal, type GoalResult, goalsOf } from "../lib/goals.js";
import type { PeerResult } from "./page.js";
import { closedLoopLabel } from "./peer.js";

const FORCED =
  "FORCED, 64 connections with one record of 128 bytes each in flight, records/s to Redis Streams with `appendfsync always`";

const kinds = [
  {
    clients: "native tools",
    side: "millrace, loadgen",
    reason:
      "both wait for the same `fdatasync` and share the disk's time between as many; what is left is the processor, and the load tool and the " +
      "server have one core each. The hour decides: quiet ones had 1.02 and 1.22",
  },
  {
    clients: "Node clients",
    side: "millrace, Node client",
    reason: "as above",
  },
] as const;

export const peerGoals: readonly Goal[] = kinds.map(({ clients, side, reason }) => ({
  question: "Redis Streams",
  of: caseName({ label: closedLoopLabel("appendfsync always", clients), flush: "FORCED" }),
  side,
  what: `${FORCED}, ${clients}`,
  atLeast: 1.3,
  read: (_, { ratio }) => ratio,
  reason,
}));

/** Of the peers that the page is about. */
export const peerGoalsOf = (results: readonly PeerResult[]): GoalResult[] =>
  goalsOf(
    results.map(({ name, cases = [] }) => ({ name, cases })),
    undefined,
    peerGoals,
  );
