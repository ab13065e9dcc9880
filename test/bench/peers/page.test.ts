// The page about the peers: ratios are millrace's, skipped peers have a reason, and promises stand beside figures.

import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { Environment } from "../../../bench/lib/environment.js";
import { type Case, type CaseResult, caseName, measureCase } from "../../../bench/lib/figures.js";
import { OTHERS } from "../../../bench/lib/report.js";
import type { Stand } from "../../../bench/lib/stand.js";
import { ackFor, peerCases, recordsFor } from "../../../bench/peers/cases.js";
import { peerGoals } from "../../../bench/peers/goals.js";
import { type PeerResult, peersPage } from "../../../bench/peers/page.js";
import { closedLoopLabel, PAYLOAD, type Peer, type Setting, shown } from "../../../bench/peers/peer.js";
import { redisSettings } from "../../../bench/peers/redis.js";
import { askPeers } from "../../../bench/peers.js";
import { tempDir } from "../../support/tmp.js";

const always: Setting = { name: "always", level: "forced", promise: "It was forced." };
const environment = {
  date: "2026-01-02 03:04",
  commit: "abc",
  cpu: "a processor",
  cores: 2,
  congestionControl: "reno",
} as Environment;

async function result(others = 0.1): Promise<PeerResult> {
  const side = (name: string, ...values: number[]) => {
    let at = 0;
    const measure = () => Promise.resolve({ value: values[at++], details: { "p99 µs": 7, [OTHERS]: others } });
    return { name, command: `${name} --flag`, measure };
  };
  const one: Case = {
    ...{ label: "64 connections", flush: "FORCED", unit: "records/s", sample: "3 s" },
    sides: [side("millrace, loadgen", 300, 200), side("Other, Node client", 50, 50), side("Other, tool", 100, 200)],
  };
  const cases = [await measureCase(one, 2)];
  return {
    name: "Other",
    version: "1.2",
    node: "its client 3.4",
    settings: [always],
    environment,
    command: "bench",
    cases,
  };
}

describe("the page about the peers", () => {
  it("gives millrace's rate divided by the peer's, pair by pair, in millrace's rows alone", async () => {
    const lines = peersPage([await result()]).split("\n");
    const rows = lines.filter((line) => /^\| (millrace|Other), /.test(line));
    expect(rows[0]).toBe("| millrace, loadgen | 250 | 200 – 300 | **2.00** (1.00 – 3.00) | 7 | 0.1 | 2 × 3 s |");
    expect(rows[1]).toBe("| Other, Node client | 50 | 50 – 50 |  | 7 | 0.1 | 2 × 3 s |");
    expect(rows[2]).toBe("| Other, tool | 150 | 100 – 200 |  | 7 | 0.1 | 2 × 3 s |");
  });

  it("says what each promises, its version, its client and the commands", async () => {
    const page = peersPage([await result()]);
    expect(page).toContain("| Other | always | It was forced. |");
    expect(page).toContain("| millrace | FORCED |");
    expect(page).toContain("## Other 1.2");
    expect(page).toContain("congestion control reno");
    expect(page).toContain("Node client: its client 3.4.");
    expect(page).toContain("Other, tool --flag");
  });

  it("calls figures doubtful when others had much of the machine meanwhile, and no others", async () => {
    expect(peersPage([await result(1.44)])).toContain("**Doubtful:** other programs used up to 1.4 of the 2 cores");
    expect(peersPage([await result()])).not.toContain("Doubtful");
  });

  it("says of a peer measured with local changes that it cannot be repeated", async () => {
    const changed = { ...environment, commit: "abc with local changes" };
    expect(peersPage([{ ...(await result()), environment: changed }])).toContain("**Cannot be repeated:**");
    expect(peersPage([await result()])).not.toContain("Cannot be repeated");
  });

  it("says of a case that failed what failed, beside those that did not", async () => {
    const page = peersPage([{ ...(await result()), failed: { "one connection": "the tool gave up" } }]);
    expect(page).toContain("**one connection**: no figures. the tool gave up");
    expect(page).toContain("| millrace, loadgen |");
  });

  it("shows a peer that could not be had with the reason, and no table", () => {
    const page = peersPage([{ name: "Other", skipped: "there is no other here" }]);
    expect(page).toContain("## Other\n\n*Skipped: there is no other here.*");
    expect(page).not.toContain("to the peer |");
  });
});

describe("the goal beside Redis", () => {
  const redis = async (tool: number, node: number): Promise<PeerResult> => {
    const side = (name: string, value: number) => ({
      ...{ name, command: name },
      measure: () => Promise.resolve({ value, details: {} }),
    });
    const forced = (clients: "native tools" | "Node clients", name: string, value: number): Promise<CaseResult> =>
      measureCase(
        {
          ...{
            label: closedLoopLabel("appendfsync always", clients),
            flush: "FORCED",
            unit: "records/s",
            sample: "3 s",
          },
          sides: [side(name, value), side("Redis Streams, tool", 100)],
        },
        1,
      );
    const cases = [
      await forced("native tools", "millrace, loadgen", tool),
      await forced("Node clients", "millrace, Node client", node),
    ];
    return { ...(await result()), name: "Redis Streams", cases };
  };

  it("stands above the figures: asked, is, and missed with the reason or met", async () => {
    const [head] = peersPage([await redis(122, 258)]).split("## What an acknowledgement promises");
    expect(head).toMatch(
      /## Goals[\s\S]*, native tools \| at least 1\.3 \| 1\.22 \(1\.22 – 1\.22\) \| \*\*missed\*\*: both wait/,
    );
    expect(head).toMatch(/, Node clients \| at least 1\.3 \| 2\.58 \(2\.58 – 2\.58\) \| met \|/);
  });

  it("is not measured where Redis was skipped, and no goal of a page about others", async () => {
    const skipped = peersPage([{ name: "Redis Streams", skipped: "there is none" }, await result()]);
    expect(skipped.match(/\| at least 1\.3 \| {2}\| \*\*not measured\*\* in this run \|/g)).toHaveLength(2);
    expect(peersPage([await result()])).not.toContain("## Goals");
  });

  it("names cases and sides that the comparison has", async () => {
    const peer = { name: "Redis Streams", settings: redisSettings, node: { found: { there: "x", version: "1" } } };
    const tool = { name: "t", warmRecords: 1, run: () => ({ command: "", args: [] }) };
    const all = { ...peer, serverCommand: () => "", closedLoop: tool, pipelined: tool, read: () => tool };
    const seen: string[] = [];
    await peerCases({ quick: false } as Stand, all as unknown as Peer, async (one) => {
      for (const { name } of one.sides) seen.push(`${caseName(one)}: ${name}`);
    });
    for (const { of, side } of peerGoals) expect(seen).toContain(`${of}: ${side}`);
  });
});

describe("peers that cannot be had", () => {
  it("are counted as skipped, with a line that says that nothing was measured and why, and the page stays", async () => {
    const said: string[] = [];
    const directory = tempDir();
    const stand = { directory, root: directory, quick: false, progress: (text: string) => said.push(text) };
    const entries = (["redis", "nats"] as const).map((id) => ({
      ...{ id, name: id, settings: [] },
      find: () => Promise.resolve({ missing: `there is no ${id}` }),
    }));
    expect(await askPeers(stand as unknown as Stand, ["redis", "nats"], true, entries)).toBe(0);
    expect(said.at(-2)).toContain(
      "Nothing was measured, and docs/peers.md stays as it is. redis: there is no redis. nats:",
    );
    expect(said.at(-1)).toBe("0 passed, 0 failed, 2 skipped");
    expect(await readdir(directory)).toEqual([]);
  });
});

describe("a case", () => {
  it("asks millrace for no less than the peer promises", () => {
    expect((["memory", "written", "forced"] as const).map((level) => ackFor({ ...always, level }))).toEqual([
      "written",
      "written",
      "forced",
    ]);
  });

  it("lasts as long as it should by the rate of the warm-up, and is never shorter than that", () => {
    expect(recordsFor({ recordsPerSecond: 12_345.6 }, { records: 1000, seconds: 3 })).toBe(38_000);
    expect(recordsFor({ recordsPerSecond: 10 }, { records: 1000, seconds: 3 })).toBe(1000);
  });

  it("is shown as a person would type it, without this run's port and payload", () => {
    const run = { command: "/a/b/tool", args: ["-p", "65536", "at:65536", PAYLOAD], parse: () => ({}) as never };
    expect(shown(run, { port: 65_536, topic: "t", directory: "" })).toBe("tool -p PORT at:PORT <128 bytes>");
  });
});
