// All questions, in the order in which they are asked: from the addon outwards.

import { append } from "./append.js";
import { appendFlush } from "./append-flush.js";
import { appendSizes } from "./append-sizes.js";
import { clientConsumer } from "./client-consumer.js";
import { clientProducer } from "./client-producer.js";
import { coldReader } from "./cold-reader.js";
import { fetchQuestion } from "./fetch.js";
import { forced } from "./forced.js";
import { groupCommit } from "./group-commit.js";
import { idleRequests } from "./idle-requests.js";
import { latencyQuestion } from "./latency.js";
import type { Question } from "./lib/question.js";
import { metricsCost } from "./metrics-cost.js";
import { produceConnections } from "./produce-connections.js";
import { producePipelined } from "./produce-pipelined.js";
import { recovery } from "./recovery.js";
import { start } from "./start.js";
import { sums } from "./sums.js";
import { sustained } from "./sustained.js";
import { waiting } from "./waiting.js";
import { wireFetch } from "./wire-fetch.js";
import { wireProduce } from "./wire-produce.js";
import { writer } from "./writer.js";

export const questions: readonly Question[] = [
  append,
  appendSizes,
  appendFlush,
  writer,
  producePipelined,
  produceConnections,
  wireProduce,
  clientProducer,
  fetchQuestion,
  wireFetch,
  clientConsumer,
  forced,
  groupCommit,
  latencyQuestion,
  sustained,
  sums,
  waiting,
  idleRequests,
  coldReader,
  metricsCost,
  recovery,
  start,
];

/** Whose ratios CI checks, within its few minutes. */
export const checked: readonly string[] = [
  append,
  appendFlush,
  writer,
  producePipelined,
  produceConnections,
  fetchQuestion,
  forced,
  groupCommit,
  sums,
  recovery,
  start,
].map(({ name }) => name);
