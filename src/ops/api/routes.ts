// The paths of the API. Each takes its parameters, refuses what it does not know, and answers JSON; the live tail answers a
// stream of events.

import type { Broker } from "../../broker/broker.js";
import {
  API_PAGE_BYTES_MAX,
  API_PAGE_ITEMS_MAX,
  API_PAGE_RECORDS_MAX,
  OFFSET_MAX,
  PARTITIONS_MAX,
  TAIL_PARTITIONS_MAX,
  TAIL_RECORDS_MAX,
} from "../../model/limits.js";
import type { OpsSource } from "../ops-source.js";
import { json, type Reply } from "../side-port-answer.js";
import type { Asked, Route } from "../side-port-routes.js";
import { ApiFailure, describeFailure } from "./failure.js";
import { brokerInfo, openPartition, partitionOf, partitionPage, topicOf, topicPage, topicsPage } from "./pages.js";
import { Parameters, wholeNumber } from "./parameters.js";
import type { RateSampler } from "./rates.js";
import type { RecordsReader } from "./read-records.js";
import type { Tails } from "./tails.js";
import type { OffsetAtTime, RecordsPage } from "./types.js";

/** What a page shows of each payload unless it is told: enough for a line. */
const PAYLOAD_BYTES = 4096;
const TAIL_PAYLOAD_BYTES = 1024;
const TAIL_PAYLOAD_BYTES_MAX = 16 * 1024;

type Answer = (
  broker: Broker,
  parameters: Parameters,
  asked: Asked,
) => object | undefined | Promise<object | undefined>;

export function apiRoutes(
  source: OpsSource,
  rates: RateSampler,
  reader: RecordsReader,
  tails: Tails,
): readonly Route[] {
  const route = (pattern: string, answer: Answer): Route => ({
    pattern,
    answer: (asked) => carryOut(source, answer, asked),
  });
  return [
    route("/api/broker", (broker, parameters) => {
      parameters.refuseOthers();
      return brokerInfo(source, broker);
    }),
    route("/api/rates", (_, parameters) => {
      const since = parameters.whole("since", 0, 0, OFFSET_MAX);
      parameters.refuseOthers();
      return rates.rates(since);
    }),
    route("/api/topics", (broker, parameters) => {
      const from = parameters.text("from") ?? "";
      const limit = items(parameters);
      parameters.refuseOthers();
      return topicsPage(broker, from, limit);
    }),
    route("/api/topics/:topic", (broker, parameters, { parts: [topic] }) => {
      const from = parameters.whole("from", 0, 0, PARTITIONS_MAX);
      const limit = items(parameters);
      parameters.refuseOthers();
      return topicPage(topicOf(broker, topic), from, limit);
    }),
    route("/api/topics/:topic/tail", (broker, parameters, asked) => tail(tails, broker, parameters, asked)),
    route("/api/topics/:topic/partitions/:partition", (broker, parameters, { parts }) => {
      const from = parameters.whole("from", 0, 0, OFFSET_MAX);
      const limit = items(parameters);
      parameters.refuseOthers();
      return partitionPage(partitionOf(broker, parts[0], numberOf(parts[1])), from, limit);
    }),
    route("/api/topics/:topic/partitions/:partition/records", (broker, parameters, { parts }) =>
      recordsPage(reader, broker, parameters, parts),
    ),
    route("/api/topics/:topic/partitions/:partition/offset", (broker, parameters, { parts }) =>
      offsetAtTime(broker, parameters, parts),
    ),
    {
      pattern: "/api/*",
      answer: () => failed(new ApiFailure("NOT_FOUND", "no such page of the API; docs/side-port.md lists them")),
    },
  ];
}

const numberOf = (partition: string): number => wholeNumber("partition", partition, 0, PARTITIONS_MAX);
const items = (parameters: Parameters): number => parameters.whole("limit", 100, 1, API_PAGE_ITEMS_MAX);

async function carryOut(source: OpsSource, answer: Answer, asked: Asked): Promise<Reply | undefined> {
  try {
    const broker = source.broker();
    if (broker === undefined) throw new ApiFailure("NOT_READY", "partitions are being opened");
    const body = await answer(broker, new Parameters(asked.query), asked);
    return body === undefined ? undefined : json(200, body);
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): Reply {
  const { status, body } = describeFailure(error);
  return json(status, body);
}

async function recordsPage(
  reader: RecordsReader,
  broker: Broker,
  parameters: Parameters,
  [topic, id]: readonly string[],
): Promise<RecordsPage> {
  const partition = openPartition(broker, topic, numberOf(id));
  const asked = parameters.optionalWhole("from", 0, OFFSET_MAX);
  const records = parameters.whole("limit", 100, 1, API_PAGE_RECORDS_MAX);
  const bytes = parameters.whole("bytes", API_PAGE_BYTES_MAX, 1, API_PAGE_BYTES_MAX);
  const payloadBytes = parameters.whole("payload", PAYLOAD_BYTES, 0, API_PAGE_BYTES_MAX);
  parameters.refuseOthers();
  const from = asked ?? partition.log?.logStartOffset ?? 0;
  const read = await reader.read(partition, from, { records, bytes, payloadBytes });
  return {
    topic,
    partition: partition.id,
    logStartOffset: partition.log?.logStartOffset ?? -1,
    highWatermark: partition.writer?.highWatermark ?? -1,
    ...read,
  };
}

/** As LIST_OFFSETS says it. */
async function offsetAtTime(
  broker: Broker,
  parameters: Parameters,
  [topic, id]: readonly string[],
): Promise<OffsetAtTime> {
  const { log, writer } = openPartition(broker, topic, numberOf(id));
  const ms = parameters.time("time");
  parameters.refuseOthers();
  const found = await log?.offsetAtTime(ms);
  const highWatermark = writer?.highWatermark ?? 0;
  // What may not be read yet is not there yet: then all that is there is older.
  if (found === undefined || found.offset >= highWatermark) return { offset: highWatermark, timestampMs: null };
  return { offset: found.offset, timestampMs: found.timestampMs };
}

function tail(tails: Tails, broker: Broker, parameters: Parameters, asked: Asked): undefined {
  const topic = topicOf(broker, asked.parts[0]);
  const wanted = parameters.wholes("partition", PARTITIONS_MAX);
  const last = parameters.whole("last", 0, 0, TAIL_RECORDS_MAX);
  const payloadBytes = parameters.whole("payload", TAIL_PAYLOAD_BYTES, 0, TAIL_PAYLOAD_BYTES_MAX);
  parameters.refuseOthers();
  const count = wanted?.length ?? topic.partitions.length;
  if (count > TAIL_PARTITIONS_MAX) {
    throw new ApiFailure(
      "BAD_REQUEST",
      `partition: ${count} partitions are too many for one tail; takes up to ${TAIL_PARTITIONS_MAX}, as 0,1,2`,
    );
  }
  const partitions = wanted?.map((id) => openPartition(broker, topic.name, id)) ?? openOnes(broker, topic.name);
  if (asked.request.method === "HEAD") {
    asked.response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" }).end();
    return undefined;
  }
  tails.add(asked.response, { topic: topic.name, partitions, last, payloadBytes });
  return undefined;
}

/** All that did open; the page of the topic says which did not. */
function openOnes(broker: Broker, name: string) {
  const topic = topicOf(broker, name);
  const open = topic.partitions.filter(({ log }) => log !== undefined);
  return open.length > 0 ? open : [openPartition(broker, name, 0)];
}
