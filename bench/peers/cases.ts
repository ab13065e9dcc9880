// The cases of one peer: beside each way to load it, millrace under the load that comes nearest, from a client of the same kind (a tool in C++
// beside its tool, a Node client beside its Node client). The peer comes last: ratios are to it.

import type { Case, Sample, Side } from "../lib/figures.js";
import { startBroker, TOPIC, usual } from "../lib/servers.js";
import { runSide } from "../lib/side.js";
import { LOOPBACK_CONGESTION, type Stand } from "../lib/stand.js";
import { commandLine, type Flags, type LoadResult } from "../lib/tools.js";
import { type Accounts, accounted, peerSample, runTool } from "./accounts.js";
import { Host, type Hosting, type Lease } from "./host.js";
import {
  type Amount,
  type At,
  BATCH,
  CONNECTIONS,
  closedLoopLabel,
  DEPTH,
  type Peer,
  RECORD_BYTES,
  type Setting,
  shown,
  type Tool,
  type ToolFigures,
} from "./peer.js";
import { nodeModulesOf } from "./programs.js";

/** What a millrace that promises no less is asked for. */
export const ackFor = ({ level }: Setting): "written" | "forced" => (level === "forced" ? "forced" : "written");

const flushOf = (setting: Setting): string =>
  `${ackFor(setting).toUpperCase()}${setting.level === "memory" ? "; the peer: in memory" : ""}`;

const BROKER = "node dist/broker.js --topics bench:1 --ops-enabled false";
const CLOSED_LOOP: Flags = { connections: CONNECTIONS, depth: 1, records: 1, size: RECORD_BYTES };
const PIPELINED: Flags = { connections: 1, depth: DEPTH, records: BATCH, size: RECORD_BYTES };
const READ_BYTES: readonly number[] = [64 << 10, 1 << 20];
/** Of a log that is read from start to end. */
const LOG_RECORDS = 500_000;
/** Before it counts, so that a broker that runs for years is not measured by its first tenth of a second. */
const WARM_SECONDS = 1;

export type NodeFigures = ToolFigures & Accounts;

/** Every case of a peer, one after the other: what a case needs is there only that long. */
export async function peerCases(stand: Stand, peer: Peer, measure: (one: Case) => Promise<unknown>): Promise<void> {
  for (const setting of peer.settings) {
    if (stand.quick && setting.level !== "forced") continue;
    await withHosts(stand, peer, setting, async (ours, theirs) => {
      await measure(closedLoopCase(stand, peer, setting, ours, theirs));
      if (stand.quick) return;
      if (!("missing" in peer.node.found)) await measure(nodeCase(stand, peer, setting, ours, theirs));
      if (setting.level !== "memory") await measure(pipelinedCase(stand, peer, setting, ours, theirs));
    });
  }
  const setting = peer.settings.find(({ level }) => level === "written");
  if (!stand.quick && setting !== undefined) await readCases(stand, peer, setting, measure);
}

async function withHosts(
  stand: Stand,
  peer: Peer,
  setting: Setting,
  action: (ours: Host, theirs: Host) => Promise<void>,
  both: Partial<Hosting> & { fillOurs?: Hosting["prepare"]; fillTheirs?: Hosting["prepare"] } = {},
): Promise<void> {
  const { fillOurs, fillTheirs, ...hosting } = both;
  const ours = new Host(stand, {
    start: (directory) => startBroker(stand, directory, usual),
    lasting: false,
    topic: () => TOPIC,
    prepare: fillOurs,
    ...hosting,
  });
  const theirs = new Host(stand, {
    start: (directory) => peer.start(directory, setting),
    lasting: peer.lasting,
    topic: (sample) => (peer.lasting ? `${TOPIC}${sample}` : TOPIC),
    prepare: fillTheirs ?? (peer.lasting ? (lease) => warm(lease, peer, setting) : undefined),
    ...hosting,
  });
  try {
    await action(ours, theirs);
  } finally {
    await ours.close();
    await theirs.close();
  }
}

const secondsOf = ({ quick }: Stand): number => (quick ? 1 : 2);

async function warm(lease: Lease, { pipelined }: Peer, setting: Setting): Promise<void> {
  await runTool(pipelined.run(lease, setting, { records: pipelined.warmRecords, seconds: WARM_SECONDS }));
}

function closedLoopCase(stand: Stand, peer: Peer, setting: Setting, ours: Host, theirs: Host): Case {
  const load = { ...CLOSED_LOOP, ack: ackFor(setting) };
  return {
    label: closedLoopLabel(setting.name, "native tools"),
    flush: flushOf(setting),
    unit: "records/s",
    sample: `${secondsOf(stand)} s`,
    sides: [generatorSide(stand, ours, load), toolSide(stand, theirs, peer, setting, peer.closedLoop)],
  };
}

function nodeCase(stand: Stand, peer: Peer, setting: Setting, ours: Host, theirs: Host): Case {
  const flags = { ...CLOSED_LOOP, ack: ackFor(setting) };
  return {
    label: closedLoopLabel(setting.name, "Node clients"),
    flush: flushOf(setting),
    unit: "records/s",
    sample: `${secondsOf(stand)} s`,
    sides: nodeSides(stand, peer, setting, ours, theirs, flags),
  };
}

function pipelinedCase(stand: Stand, peer: Peer, setting: Setting, ours: Host, theirs: Host): Case {
  const flags = { ...PIPELINED, ack: ackFor(setting) };
  const [oursNode, theirsNode] = nodeSides(stand, peer, setting, ours, theirs, flags);
  return {
    label: `${setting.name}: one connection, pipelined (Node clients and loadgen: ${DEPTH} requests of ${BATCH} records)`,
    flush: flushOf(setting),
    unit: "records/s",
    sample: `${secondsOf(stand)} s`,
    sides: [
      generatorSide(stand, ours, flags),
      oursNode,
      ...("missing" in peer.node.found ? [] : [theirsNode]),
      toolSide(stand, theirs, peer, setting, peer.pipelined),
    ],
  };
}

async function readCases(
  stand: Stand,
  peer: Peer,
  setting: Setting,
  measure: (one: Case) => Promise<unknown>,
): Promise<void> {
  const fillOurs = async ({ port }: At): Promise<void> => {
    const requests = LOG_RECORDS / 100;
    await stand.tools.load({ port, topic: TOPIC, depth: 64, records: 100, size: RECORD_BYTES, requests });
  };
  const fillTheirs = async (lease: Lease): Promise<void> => {
    await runTool(peer.pipelined.run(lease, setting, { records: LOG_RECORDS, seconds: WARM_SECONDS }));
  };
  const fetched = async (ours: Host, theirs: Host): Promise<void> => {
    for (const maxBytes of READ_BYTES) {
      const load = { api: "fetch", "max-bytes": maxBytes, size: RECORD_BYTES, range: LOG_RECORDS };
      const flags = { read: maxBytes, range: LOG_RECORDS };
      const [oursNode, theirsNode] = nodeSides(stand, peer, setting, ours, theirs, flags);
      const hasNode = peer.node.reads && !("missing" in peer.node.found);
      await measure({
        label: `reading from the start, ${maxBytes >> 10} KiB at once`,
        flush: "none",
        unit: "records/s",
        sample: `${secondsOf(stand)} s`,
        sides: [
          generatorSide(stand, ours, load),
          oursNode,
          ...(hasNode ? [theirsNode] : []),
          toolSide(stand, theirs, peer, setting, peer.read(maxBytes)),
        ],
      });
    }
  };
  await withHosts(stand, peer, setting, fetched, { lasting: true, topic: () => TOPIC, fillOurs, fillTheirs });
}

/** millrace under the native generator. */
function generatorSide(stand: Stand, host: Host, load: Flags): Side {
  const flags = { topic: TOPIC, ...load, seconds: secondsOf(stand) };
  return {
    name: "millrace, loadgen",
    command: `${BROKER}; ${commandLine("loadgen", flags)}`,
    measure: () =>
      host.lend(async ({ port, pid }) => {
        const run = (more: Flags): Promise<LoadResult> =>
          stand.tools.load({ port, congestion: LOOPBACK_CONGESTION, ...flags, ...more });
        await run({ seconds: WARM_SECONDS });
        const [result, accounts] = await accounted(pid, () => run({}));
        return peerSample(loadFigures(result), accounts);
      }),
  };
}

function loadFigures(result: LoadResult): ToolFigures {
  const { requests, requestsPerSecond, latency, recordsAcknowledged, payloadBytes = 0 } = result;
  const records = recordsAcknowledged ?? payloadBytes / RECORD_BYTES;
  return { records, recordsPerSecond: (records / requests) * requestsPerSecond, latency };
}

/** The Node clients of millrace and of the peer, driven in the same way by sides/peer-client.ts. */
function nodeSides(
  stand: Stand,
  peer: Peer,
  setting: Setting,
  ours: Host,
  theirs: Host,
  load: Flags,
): readonly [Side, Side] {
  const flags = { ...load, warmup: WARM_SECONDS, seconds: secondsOf(stand) };
  const side = (client: string, name: string, server: string, host: Host): Side => ({
    name,
    command: `${server}; ${commandLine("node sides/peer-client.js", { client, ...flags })}`,
    measure: () =>
      host.lend(async ({ port, pid, topic }) => {
        const own = { client, modules: nodeModulesOf(stand.root), port, server: pid, topic };
        const figures = await runSide<NodeFigures>(stand, "peer-client", { ...own, ...flags });
        return peerSample(figures, figures);
      }),
  });
  return [
    side("millrace", "millrace, Node client", BROKER, ours),
    side(peer.id, `${peer.name}, ${peer.node.name}`, peer.serverCommand(setting), theirs),
  ];
}

function toolSide(stand: Stand, host: Host, peer: Peer, setting: Setting, tool: Tool): Side {
  const seconds = secondsOf(stand);
  const example: At = { port: EXAMPLE_PORT, topic: TOPIC, directory: "" };
  const run = tool.run(example, setting, { records: amountOf(tool).records, seconds });
  return {
    name: `${peer.name}, ${tool.name}`,
    command: `${peer.serverCommand(setting)}; ${shown(run, example)}`,
    measure: () => host.lend((lease) => toolSample(lease, setting, tool, seconds)),
  };
}

/** No port: what stands for it in the report is seen at once. */
const EXAMPLE_PORT = 54_321;

const amountOf = ({ once, warmRecords }: Tool): { records: number } => ({ records: once ? LOG_RECORDS : warmRecords });

/** Runs it once to see how fast it is, then for so long. */
async function toolSample(lease: Lease, setting: Setting, tool: Tool, seconds: number): Promise<Sample> {
  let { records } = amountOf(tool);
  if (!tool.once && records > 0) {
    const before = await runTool(tool.run(lease, setting, { records, seconds }));
    records = recordsFor(before, { records, seconds });
  }
  const [figures, accounts] = await accounted(lease.pid, () => runTool(tool.run(lease, setting, { records, seconds })));
  return peerSample(figures, accounts);
}

/** How many records take so many seconds, in whole thousands; never fewer than were enough to find out. */
export function recordsFor(
  { recordsPerSecond }: Pick<ToolFigures, "recordsPerSecond">,
  { records, seconds }: Amount,
): number {
  return Math.max(records, Math.ceil((recordsPerSecond * seconds) / 1000) * 1000);
}
