// `npm run bench -- peers [redis] [nats] [kafka] [--fetch]`: what others make of the same work. Not among the questions, since it needs programs that
// are not part of this checkout, and compares with them instead of a floor. What can be had is measured, what cannot is said, and both are
// on the page that comes of it: docs/peers.md.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { countsLine } from "./check-run.js";
import { environment } from "./lib/environment.js";
import { type CaseResult, measureCase } from "./lib/figures.js";
import { replace } from "./lib/results.js";
import type { Stand } from "./lib/stand.js";
import { peerCases } from "./peers/cases.js";
import { fetchPeers } from "./peers/fetch.js";
import { kafkaPeer, kafkaSettings } from "./peers/kafka.js";
import { natsPeer, natsSettings } from "./peers/nats.js";
import { type PeerResult, peersPage } from "./peers/page.js";
import type { Peer, Setting } from "./peers/peer.js";
import type { Found } from "./peers/programs.js";
import { redisPeer, redisSettings } from "./peers/redis.js";

export interface Entry {
  readonly id: Peer["id"];
  readonly name: string;
  readonly settings: readonly Setting[];
  readonly find: (root: string) => Promise<Found<Peer>>;
}

const PEERS: readonly Entry[] = [
  { id: "redis", name: "Redis Streams", find: redisPeer, settings: redisSettings },
  { id: "nats", name: "NATS JetStream", find: natsPeer, settings: natsSettings },
  { id: "kafka", name: "Apache Kafka", find: kafkaPeer, settings: kafkaSettings },
];

/** By timers, on loopback, too; millrace's own choose another one. */
const PACING: ReadonlySet<string> = new Set(["bbr", "bbr2", "bbr3"]);

/** Resolves to the exit code: 1 when something could not be had. */
export async function fetchAll({ root, progress }: Pick<Stand, "root" | "progress">): Promise<number> {
  return (await fetchPeers(root, progress)).size === 0 ? 0 : 1;
}

/**
 * Samples of a quick run are too few and short for the page, which then stays as it is. Resolves to the exit code: 1 when a case failed;
 * what cannot be had is skipped, and no failure.
 */
export async function askPeers(
  stand: Stand,
  names: readonly string[],
  report: boolean,
  entries: readonly Entry[] = PEERS,
): Promise<number> {
  const { congestionControl } = await environment(stand.directory, stand.root);
  if (PACING.has(congestionControl))
    stand.progress(`The peers' connections are paced by ${congestionControl}: see docs/peers.md.`);
  const skipped: string[] = [];
  const counts = { passed: 0, failed: 0 };
  for (const entry of entries) {
    if (!names.includes(entry.id)) continue;
    const found = await entry.find(stand.root);
    if ("missing" in found) {
      stand.progress(`\n${entry.name}: skipped: ${found.missing}`);
      skipped.push(`${entry.name}: ${found.missing}`);
      continue;
    }
    stand.progress(`\n${entry.name} ${found.version}`);
    const result = await ask(stand, found.there);
    counts.passed += result.cases?.length ?? 0;
    counts.failed += Object.keys(result.failed ?? {}).length;
    const kept = report && !stand.quick;
    // Every sample with what it cost and what others took meanwhile: the page has medians.
    await replace(resultPath(stand.root, entry.id, kept ? "" : "-aside"), JSON.stringify(result));
    if (!kept) process.stdout.write(peersPage([result]));
  }
  const measured = counts.passed + counts.failed > 0;
  if (measured && report && !stand.quick) await writePage(stand);
  if (!measured) stand.progress(`\nNothing was measured, and docs/peers.md stays as it is. ${skipped.join(". ")}.`);
  stand.progress(countsLine({ ...counts, skipped: skipped.length }));
  return counts.failed === 0 ? 0 : 1;
}

async function ask(stand: Stand, peer: Peer): Promise<PeerResult> {
  const before = await environment(stand.directory, stand.root);
  const cases: CaseResult[] = [];
  const failed: Record<string, string> = {};
  await peerCases(stand, peer, async (one) => {
    try {
      cases.push(await measureCase(one, stand.rounds, (text) => stand.progress(`  ${text}`)));
    } catch (error) {
      // A tool that gives up says something about its server: the other cases still have figures.
      stand.progress(`  ${one.label}: ${String(error)}`);
      failed[one.label] = shortened(error);
    }
  });
  const { id, name, version, settings, node } = peer;
  return {
    name,
    version,
    node: "missing" in node.found ? node.found.missing : `${node.name} ${node.found.version}`,
    settings,
    environment: before,
    command: `npm run bench -- peers ${id}${stand.quick ? " --quick" : ""} --rounds ${stand.rounds}`,
    cases,
    failed,
  };
}

/** On one line, without the paths that are this machine's alone. */
function shortened(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text
    .replaceAll(/\/\S*\//g, "")
    .replaceAll(/\s+/g, " ")
    .slice(-500);
}

const resultPath = (root: string, id: Peer["id"], mark = ""): string =>
  join(root, ".cache", "bench", "peers", `${id}${mark}.json`);

/** Out of the last full run of each. */
async function writePage({ root, progress }: Stand): Promise<void> {
  const results = await Promise.all(
    PEERS.map(async ({ id, name, settings, find }): Promise<PeerResult> => {
      const text = await readFile(resultPath(root, id), "utf8").catch(() => undefined);
      if (text !== undefined) return JSON.parse(text) as PeerResult;
      const found = await find(root);
      return { name, settings, skipped: "missing" in found ? found.missing : "not measured in this run" };
    }),
  );
  if (results.every(({ skipped }) => skipped !== undefined)) return;
  await replace(join(root, "docs", "peers.md"), peersPage(results));
  progress("\nreport: docs/peers.md");
}
