// Apache Kafka: one process that is broker and controller (KRaft), one partition, one replica, acks=all. Loaded by its own tools; the closed loop
// of 64 connections, which they do not have, is kafka/ClosedLoop.java on its own client.

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { closedLoopFigures, kafkaConsumerFigures, kafkaProducerFigures } from "./output.js";
import { CONNECTIONS, type Peer, RECORD_BYTES, type Setting } from "./peer.js";
import { freePort, PeerProcess } from "./process.js";
import { type Found, findKafka, findNodeClient, type KafkaPrograms } from "./programs.js";

const run = promisify(execFile);

export const kafkaSettings: readonly Setting[] = [
  {
    name: "flush by the system (default)",
    level: "written",
    promise:
      "The record was handed to the operating system by `write`. Nothing is forced: on one machine a power cut loses what the system held.",
  },
  {
    name: "log.flush.interval.messages=1",
    level: "forced",
    promise: "The record was written and forced by `fsync`, one for each batch of each request.",
  },
];

/** What its start script gives it. */
const JVM = ["-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"];
const CLUSTER = "millraceBenchmarkPeerQ";

export function serverProperties(directory: string, port: number, controller: number, setting: Setting): string {
  return [
    "process.roles=broker,controller",
    "node.id=1",
    `controller.quorum.voters=1@127.0.0.1:${controller}`,
    `listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
    `advertised.listeners=PLAINTEXT://127.0.0.1:${port}`,
    "controller.listener.names=CONTROLLER",
    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    `log.dirs=${join(directory, "logs")}`,
    "offsets.topic.replication.factor=1",
    "offsets.topic.num.partitions=1",
    "transaction.state.log.replication.factor=1",
    "transaction.state.log.min.isr=1",
    "group.initial.rebalance.delay.ms=0",
    ...(setting.level === "forced" ? ["log.flush.interval.messages=1"] : []),
    "",
  ].join("\n");
}

async function start({ java, classPath }: KafkaPrograms, directory: string, setting: Setting): Promise<PeerProcess> {
  await mkdir(directory, { recursive: true });
  const [port, controller] = [await freePort(), await freePort()];
  const config = join(directory, "server.properties");
  await writeFile(config, serverProperties(directory, port, controller, setting));
  await run(java, ["-cp", classPath, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", config]);
  return PeerProcess.start({ command: java, args: [...JVM, "-cp", classPath, "kafka.Kafka", config], port });
}

export async function kafkaPeer(root: string): Promise<Found<Peer>> {
  const found = await findKafka(root);
  if ("missing" in found) return found;
  const { there: programs, version } = found;
  const { java: command, classPath } = programs;
  const peer: Peer = {
    id: "kafka",
    name: "Apache Kafka",
    version,
    lasting: true,
    settings: kafkaSettings,
    serverCommand: ({ level }) =>
      `kafka-server-start, KRaft, one partition${level === "forced" ? ", log.flush.interval.messages=1" : ""}`,
    start: (directory, setting) => start(programs, directory, setting),
    closedLoop: {
      name: "Java client, a producer each",
      warmRecords: 0,
      run: (at, _setting, { seconds }) => ({
        command,
        args: [
          ...["-cp", classPath, join(root, "bench", "peers", "kafka", "ClosedLoop.java")],
          ...[`127.0.0.1:${at.port}`, at.topic, String(CONNECTIONS), String(RECORD_BYTES), "3", String(seconds)],
        ],
        parse: closedLoopFigures,
      }),
    },
    pipelined: {
      name: "kafka-producer-perf-test",
      warmRecords: 200_000,
      run: (at, _setting, { records }) => ({
        command,
        args: [
          ...[
            "-cp",
            classPath,
            "org.apache.kafka.tools.ProducerPerformance",
            "--topic",
            at.topic,
            "--num-records",
            String(records),
          ],
          ...["--record-size", String(RECORD_BYTES), "--throughput", "-1"],
          ...["--producer-props", `bootstrap.servers=127.0.0.1:${at.port}`, "acks=all"],
        ],
        parse: kafkaProducerFigures,
      }),
    },
    read: (maxBytes) => ({
      name: "kafka-consumer-perf-test",
      warmRecords: 0,
      once: true,
      run: (at, _setting, { records }) => ({
        command,
        args: [
          ...[
            "-cp",
            classPath,
            "org.apache.kafka.tools.ConsumerPerformance",
            "--topic",
            at.topic,
            "--messages",
            String(records),
          ],
          ...["--fetch-size", String(maxBytes), "--bootstrap-server", `127.0.0.1:${at.port}`],
        ],
        parse: kafkaConsumerFigures,
      }),
    }),
    node: { name: "@platformatic/kafka", reads: false, found: await findNodeClient(root, "@platformatic/kafka") },
  };
  return { there: peer, version };
}
