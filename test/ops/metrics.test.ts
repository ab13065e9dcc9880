// /metrics: valid, and true: a scrape says what was sent, and each scrape under load is one that a server would take.

import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/model/clock.js";
import { METRICS_PARTITIONS_MAX } from "../../src/model/limits.js";
import type { ServingSource } from "../../src/ops/metrics/families.js";
import { partitionFamilies } from "../../src/ops/metrics/partition-families.js";
import { openOpsPages } from "../../src/ops/ops-pages.js";
import { resolve } from "../../src/ops/settings/resolve.js";
import { openSidePort } from "../../src/ops/side-port.js";
import { connectTo, runBroker } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { type ParsedFamily, parseExposition, seriesValue } from "../support/exposition.js";
import { ManualTime } from "../support/manual-time.js";
import { fetch as fetchRequest, frame, produce, waitingFetch } from "../support/wire.js";

const ops = { "ops.enabled": true, "ops.port": 0 };

async function scrape(port: number | undefined): Promise<Map<string, ParsedFamily>> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  return parseExposition(await answer.text());
}

describe("/metrics", () => {
  it("says each time that the process started at the same time: a change is a restart to whoever watches", async () => {
    const broker = await runBroker(ops);
    const seen = new Set<number | undefined>();
    for (let i = 0; i < 10; i++) {
      seen.add(seriesValue(await scrape(broker.opsPort), "process_start_time_seconds", {}));
      await new Promise((resolve) => setTimeout(resolve, 7));
    }
    expect([...seen]).toEqual([expect.closeTo(Date.now() / 1000 - process.uptime(), 0)]);
  });

  it("says under load what was sent, and every scrape meanwhile is valid and counts only upwards", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:2,clicks:1" });
    const wires = await Promise.all([connectTo(broker), connectTo(broker), connectTo(broker)]);
    const payloads = [ascii("four"), ascii("seven77")];
    const bytesOfBatch = 4 + 4 + 4 + 7;
    let busy = true;
    const load = Promise.all([
      // ack none, so no answers; then a request that has one, to know that all arrived.
      (async () => {
        for (let i = 0; i < 300; i++) wires[0].send(produce(payloads, { ack: 0 }));
        await wires[0].ask(fetchRequest(0));
      })(),
      (async () => {
        for (let i = 0; i < 200; i++) await wires[1].ask(produce(payloads, { partition: 1, ack: 1 }));
        for (let i = 0; i < 7; i++) await wires[1].ask(produce(payloads, { topic: "nowhere" }));
      })(),
      (async () => {
        for (let i = 0; i < 50; i++) wires[2].send(produce(payloads, { topic: "clicks", ack: 2 }));
        await wires[2].responses(50);
        for (let i = 0; i < 3; i++) await wires[2].ask(waitingFetch(100, { topic: "clicks", maxWaitMs: 20 }));
        await wires[2].ask(fetchRequest(10_000, { topic: "clicks" }));
        await wires[2].ask(frame(99, 1, 1, new Uint8Array(0)));
      })(),
    ]).finally(() => {
      busy = false;
    });
    let before = new Map<string, ParsedFamily>();
    let scrapes = 0;
    for (; busy; scrapes++) {
      const now = await scrape(broker.opsPort);
      for (const { type, name, samples } of before.values()) {
        if (type === "gauge") continue;
        for (const { name: series, labels, value } of samples) {
          expect([name, seriesValue(now, series, labels)]).toEqual([name, expect.toSatisfy((later) => later >= value)]);
        }
      }
      before = now;
    }
    await load;
    expect(scrapes).toBeGreaterThan(1);

    const told = await scrape(broker.opsPort);
    const value = (name: string, labels?: Record<string, string>) => seriesValue(told, `millrace_${name}`, labels);
    expect(value("produce_requests_total")).toBe(557);
    expect(value("produce_records_total")).toBe(1100);
    expect(value("produce_bytes_total")).toBe(550 * bytesOfBatch);
    expect(value("fetch_requests_total")).toBe(5);
    expect(value("request_errors_total", { code: "UNKNOWN_TOPIC_OR_PARTITION" })).toBe(7);
    expect(value("request_errors_total", { code: "OFFSET_OUT_OF_RANGE" })).toBe(1);
    expect(value("request_errors_total", { code: "UNSUPPORTED_VERSION" })).toBe(1);
    expect(value("produce_duration_seconds_count", { ack: "written" })).toBe(200);
    expect(value("produce_duration_seconds_count", { ack: "forced" })).toBe(50);
    expect(value("produce_duration_seconds_sum", { ack: "forced" })).toBeGreaterThan(0);
    expect(value("fetch_duration_seconds_count", { waited: "no" })).toBe(2);
    expect(value("fetch_duration_seconds_count", { waited: "yes" })).toBe(3);
    expect(value("fetch_duration_seconds_sum", { waited: "yes" })).toBeGreaterThan(0.055);
    expect(value("fetch_duration_seconds_sum", { waited: "yes" })).toBeLessThan(20);
    expect(value("fetches_parked_total")).toBe(3);
    expect(value("fetches_expired_total")).toBe(3);
    expect(value("fetches_waiting")).toBe(0);
    expect(value("barrier_group_size_sum")).toBe(50);
    const barriers = value("barrier_duration_seconds_count");
    expect(barriers).toBeGreaterThan(0);
    expect(barriers).toBeLessThanOrEqual(50);
    expect(value("connections")).toBe(3);
    expect(value("fetch_bytes_total")).toBe(value("zero_copy_bytes_total") + value("heap_bytes_total"));
    const ends = [
      ["orders", "0", 600],
      ["orders", "1", 400],
      ["clicks", "0", 100],
    ] as const;
    for (const [topic, partition, end] of ends) {
      expect(value("partition_log_end_offset", { topic, partition })).toBe(end);
      expect(value("partition_size_bytes", { topic, partition })).toBe((end / 2) * (8 + 4 + 8 + 7));
    }
    expect(value("partition_durable_offset", { topic: "clicks", partition: "0" })).toBe(100);
    expect(value("partitions", { state: "open" })).toBe(3);
    expect(value("ready")).toBe(1);
    expect(seriesValue(told, "process_resident_memory_bytes")).toBeGreaterThan(10 * 2 ** 20);
    // How late the loop was is looked at while it works.
    await expect
      .poll(async () => seriesValue(await scrape(broker.opsPort), "millrace_event_loop_delay_seconds_count"), {
        timeout: 5000,
      })
      .toBeGreaterThan(0);
  });

  it("shows the first thousand partitions, and how many it does not show", async () => {
    const count = METRICS_PARTITIONS_MAX + 3;
    const log = { poisoned: undefined, logEndOffset: 7 };
    const partitions = Array.from({ length: count }, (_, id) => ({
      id,
      topic: { name: "orders" },
      log,
      writer: undefined,
    }));
    const health = () => ({ refused: [], poisoned: [] });
    const source = { broker: { catalog: { partitions }, health } } as unknown as ServingSource;
    const values = async (name: string) => {
      const family = partitionFamilies.find((each) => each.name === name);
      return Array.from((await family?.values(source)) ?? []);
    };
    const shown = await values("millrace_partition_log_end_offset");
    expect(shown).toHaveLength(METRICS_PARTITIONS_MAX);
    const labels = { topic: "orders", partition: String(METRICS_PARTITIONS_MAX - 1) };
    expect(shown.at(-1)).toEqual({ labels, value: 7 });
    expect(await values("millrace_partitions_not_shown")).toEqual([{ labels: {}, value: 3 }]);
    expect(await values("millrace_partitions")).toContainEqual({ labels: { state: "open" }, value: count });
  });

  it("is there while partitions are being opened, with what there is", async () => {
    const time = new ManualTime();
    const { resolved } = resolve([]);
    if (resolved === undefined) throw new Error("the defaults hold");
    const pages = openOpsPages({
      version: "1.2.3",
      resolved,
      broker: () => undefined,
      server: () => undefined,
      opsPort: () => 0,
      connectionsMax: 1,
      stopping: () => false,
      clock: systemClock,
      now: () => time.monotonicNow(),
      timers: time,
    });
    const nothing = { health: () => undefined, stopping: () => false, routes: pages.routes };
    const side = await openSidePort({ host: "127.0.0.1", port: 0, allowedHosts: [], ...nothing });
    onTestFinished(() => side.close());
    const told = await scrape(side.port);
    expect(seriesValue(told, "millrace_ready")).toBe(0);
    expect(told.has("millrace_produce_requests_total")).toBe(false);
    expect((await fetch(`http://127.0.0.1:${side.port}/api/topics`)).status).toBe(503);
    // A second without a broker is not a row of zeros.
    time.advance(3000);
    expect(time.armed).toBeGreaterThan(0);
    pages.stop();
    expect(time.armed).toBe(0);
  });
});

describe("the check of the format itself", () => {
  const good = '# HELP a_total A.\n# TYPE a_total counter\na_total{x="1\\"\\\\\\n"} 2.5e3\n';
  const histogram = (lines: string) => `# HELP h H.\n# TYPE h histogram\n${lines}`;

  it("lets what is right through", () => {
    expect(seriesValue(parseExposition(good), "a_total", { x: '1"\\\n' })).toBe(2500);
    const lines = 'h_bucket{le="0.1"} 1\nh_bucket{le="+Inf"} 3\nh_sum 4\nh_count 3\n';
    expect(seriesValue(parseExposition(histogram(lines)), "h_count")).toBe(3);
  });

  it.each([
    ["no end of the last line", good.trimEnd()],
    ["a family twice", good + good],
    ["a series twice", `${good}a_total{x="1\\"\\\\\\n"} 2\n`],
    ["a sample of nothing", `${good}b 1\n`],
    ["no HELP", "# TYPE a gauge\na 1\n"],
    ["a type that is none", "# HELP a A.\n# TYPE a number\na 1\n"],
    ["a counter without _total", "# HELP a A.\n# TYPE a counter\na 1\n"],
    ["a counter below 0", "# HELP a_total A.\n# TYPE a_total counter\na_total -1\n"],
    ["a value that is none", "# HELP a A.\n# TYPE a gauge\na undefined\n"],
    ["a quote that is not escaped", '# HELP a A.\n# TYPE a gauge\na{x="""} 1\n'],
    ["a label name that is none", '# HELP a A.\n# TYPE a gauge\na{x-y="1"} 1\n'],
    ["no +Inf", histogram('h_bucket{le="1"} 1\nh_sum 4\nh_count 1\n')],
    ["buckets that shrink", histogram('h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 4\nh_count 1\n')],
    ["another count than buckets", histogram('h_bucket{le="+Inf"} 1\nh_sum 4\nh_count 2\n')],
    [
      "bounds out of order",
      histogram('h_bucket{le="2"} 1\nh_bucket{le="1"} 1\nh_bucket{le="+Inf"} 1\nh_sum 4\nh_count 1\n'),
    ],
  ])("catches %s", (_, text) => {
    expect(() => parseExposition(text)).toThrow();
  });
});
