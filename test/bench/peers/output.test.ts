// What the peers' tools print becomes figures, and what is no result becomes an error: each text is as the tool has printed it.

import { describe, expect, it } from "vitest";
import {
  closedLoopFigures,
  kafkaConsumerFigures,
  kafkaProducerFigures,
  natsBenchFigures,
  redisBenchmarkFigures,
} from "../../../bench/peers/output.js";

const REDIS_HEAD =
  '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"';
const redis = (command: string, rps = "81300.81"): string =>
  `${REDIS_HEAD}\n"${command}","${rps}","0.697","0.272","0.623","1.079","2.111","3.815"\n`;

describe("redis-benchmark", () => {
  it("gives requests, their rate and latencies in microseconds", () => {
    expect(redisBenchmarkFigures(redis("XADD bench * d xxx"), 20_000, 1)).toEqual({
      records: 20_000,
      recordsPerSecond: 81_300.81,
      latency: { p50Us: 623, p99Us: 2111, maxUs: 3815 },
    });
  });

  it("counts the records that a request brings, and not the requests", () => {
    const { records, recordsPerSecond } = redisBenchmarkFigures(redis("XRANGE bench - + COUNT 512"), 100, 512);
    expect(records).toBe(51_200);
    expect(recordsPerSecond).toBeCloseTo(81_300.81 * 512);
  });

  it("is not misled by a command that looks like columns", () => {
    const { latency, recordsPerSecond } = redisBenchmarkFigures(redis('XADD a","9","9 * d x'), 1, 1);
    expect(recordsPerSecond).toBe(81_300.81);
    expect(latency?.p99Us).toBe(2111);
  });

  it("is no result when the server has answered with errors, which the tool counts like answers", () => {
    const output = `${redis("XADD bench")}Error from server: ERR wrong number of arguments for 'xadd' command\n`;
    expect(() => redisBenchmarkFigures(output, 2000, 1)).toThrow("no figures");
  });

  it.each([
    ["nothing", ""],
    ["a head alone", `${REDIS_HEAD}\n`],
    ["no rate", redis("XADD bench * d xxx", "0.00")],
    ["a refused connection", "Could not connect to Redis at 127.0.0.1:1: Connection refused\n"],
  ])("is no result when it prints %s", (_what, output) => {
    expect(() => redisBenchmarkFigures(output, 1, 1)).toThrow("no figures");
  });
});

const NATS_MANY = [
  "10:49:50 Starting JetStream synchronous publisher benchmark [clients=2, msgs=20,000]",
  "  [1] 64 msgs/sec ~ 8.1 KiB/sec ~ min: 337.41us ~ avg: 15,489.96us ~ max: 188,220.63us ~ P50: 12,305.56us ~ P90: 24,694.03us ~ P99: 51,126.33us ~ P99.9: 188,220.63us (313 msgs)",
  "",
  " NATS JetStream synchronous publisher aggregated stats: 4,039 msgs/sec ~ 505 KiB/sec",
  " message rates min 63 | avg 63 | max 64 | stddev 0 msgs",
  " latencies per operation min 238.44us | avg 15,759.06us | max 190,377.56us | stddev 20,550.93us | P50 12,530.67us | P90 24,090.15us | P99 49,286.6us | P99.9: 189,935.58us",
  "",
].join("\n");
const NATS_ONE =
  "\nNATS JetStream asynchronous publisher stats: 3,542 msgs/sec ~ 443 KiB/sec ~ min: 367,833.44us ~ avg: 705,259.54us ~ max: 1,664,753.56us ~ P50: 433,311.43us ~ P90: 1,664,753.56us ~ P99: 1,664,753.56us ~ P99.9: 1,664,753.56us\n";
const NATS_READ = "\nNATS JetStream ordered ephemeral consumer stats: 168,806 msgs/sec ~ 21 MiB/sec\n";

describe("nats bench", () => {
  it("gives what all clients did together, and not what one did", () => {
    expect(natsBenchFigures(NATS_MANY, 20_000)).toEqual({
      records: 20_000,
      recordsPerSecond: 4039,
      latency: { p50Us: 12_530.67, p99Us: 49_286.6, maxUs: 190_377.56 },
    });
  });

  it("gives what a single client did", () => {
    expect(natsBenchFigures(NATS_ONE, 20_000)).toEqual({
      records: 20_000,
      recordsPerSecond: 3542,
      latency: { p50Us: 433_311.43, p99Us: 1_664_753.56, maxUs: 1_664_753.56 },
    });
  });

  it("gives a rate without latencies where there are none", () => {
    expect(natsBenchFigures(NATS_READ, 5)).toEqual({ records: 5, recordsPerSecond: 168_806, latency: undefined });
  });

  it.each([
    ["nothing", ""],
    ["no rate", NATS_READ.replace("168,806", "0")],
    ["an error beside figures", `nats: error: nats: timeout\n${NATS_READ}`],
  ])("is no result when it prints %s", (_what, output) => {
    expect(() => natsBenchFigures(output, 1)).toThrow("no figures");
  });
});

const KAFKA_PRODUCER = [
  "SLF4J: Defaulting to no-operation (NOP) logger implementation",
  "44513 records sent, 8856.5 records/sec (1.08 MB/sec), 2282.1 ms avg latency, 3618.0 ms max latency.",
  "500000 records sent, 50838.8 records/sec (6.21 MB/sec), 3057.97 ms avg latency, 4584.00 ms max latency, 3128 ms 50th, 4518 ms 95th, 4576 ms 99th, 4583 ms 99.9th.",
  "",
].join("\n");
const KAFKA_CONSUMER = [
  "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec",
  "2026-11-30 10:50:20:709, 2026-11-30 10:50:23:626, 61.0352, 20.9239, 500000, 171408.9818, 444, 2473, 24.6806, 202183.5827",
  "",
].join("\n");

describe("the tools of Kafka", () => {
  it("give of a producer what is said of the whole, and not of five seconds of it", () => {
    expect(kafkaProducerFigures(KAFKA_PRODUCER)).toEqual({
      records: 500_000,
      recordsPerSecond: 50_838.8,
      latency: { p50Us: 3_128_000, p99Us: 4_576_000, maxUs: 4_584_000 },
    });
  });

  it("give of a consumer the rate of fetching, without the joining of its group", () => {
    expect(kafkaConsumerFigures(KAFKA_CONSUMER)).toEqual({ records: 500_000, recordsPerSecond: 202_183.5827 });
  });

  it("give of the closed loop what its program prints", () => {
    const output = 'SLF4J: …\n{"records":1500,"seconds":3.0,"p50Us":12.5,"p99Us":99.0,"maxUs":100.25}\n';
    expect(closedLoopFigures(output)).toEqual({
      records: 1500,
      recordsPerSecond: 500,
      latency: { p50Us: 12.5, p99Us: 99, maxUs: 100.25 },
    });
  });

  it("are no result without figures, or with an exception beside them", () => {
    expect(() => kafkaProducerFigures("")).toThrow("no figures");
    expect(() => kafkaProducerFigures(KAFKA_PRODUCER.split("\n").slice(0, 2).join("\n"))).toThrow("no figures");
    expect(() => kafkaProducerFigures(`${KAFKA_PRODUCER}java.lang.Exception: a batch was lost`)).toThrow("no figures");
    expect(() => kafkaConsumerFigures("")).toThrow("no figures");
    expect(() => kafkaConsumerFigures(KAFKA_CONSUMER.split("\n")[0])).toThrow("no figures");
    expect(() => kafkaConsumerFigures(KAFKA_CONSUMER.replace("202183.5827", "NaN"))).toThrow("no figures");
    expect(() => closedLoopFigures("")).toThrow("no figures");
    expect(() => closedLoopFigures('{"records":0,"seconds":3}')).toThrow("no figures");
  });
});
