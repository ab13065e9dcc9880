// What requests may say, and who may ask the side port for what: each check taken away. The rung `input` notices them.

import { bound } from "./bounds.js";
import type { Mutant } from "./mutant.js";

export const requests: readonly Mutant[] = [
  bound(
    "the side port's own names",
    "src/ops/side-port.ts",
    "if (!isAskedByOwnName(options, request)) {",
    "if (!isAskedByOwnName(options, request) && options.port < 0) {",
  ),
  bound(
    "the side port reads only",
    "src/ops/side-port.ts",
    'if (request.method !== "GET" && request.method !== "HEAD") {',
    'if (request.method === "") {',
  ),
  bound(
    "the side port is not for pages of other origins",
    "src/ops/side-port.ts",
    "if (isOfAnotherOrigin(request)) {",
    "if (isOfAnotherOrigin(request) && options.port < 0) {",
  ),
  bound(
    "one request at a time on a connection of the side port",
    "src/ops/side-port.ts",
    "if (answering.has(socket)) {",
    "if (answering.has(socket) && options.port < 0) {",
  ),
  bound(
    "the connections of the side port",
    "src/ops/side-port.ts",
    "  server.maxConnections = OPS_CONNECTIONS_MAX;\n",
    "",
  ),
  {
    ...bound(
      "the time of a request to the side port",
      "src/ops/side-port.ts",
      "  server.headersTimeout = OPS_REQUEST_MS;\n",
      "  server.headersTimeout = 10 * OPS_REQUEST_MS;\n",
    ),
    covered: "the time for the whole of a request is as long, and is another setting of the same server",
  },
  bound(
    "a request has its header",
    "src/server/requests.ts",
    "if (length < REQUEST_HEADER_BYTES) {",
    "if (length < 0) {",
  ),
  bound(
    "the end of a FETCH",
    "src/protocol/fetch.ts",
    "if (end - from !== FIXED_BYTES + topicBytes) return",
    "if (end - from < FIXED_BYTES) return",
  ),
  bound(
    "what a FETCH may ask for",
    "src/protocol/fetch.ts",
    "into.partition < 0 || into.fetchOffset < 0 || into.maxBytes <= 0",
    "into.partition < 0 || into.fetchOffset < 0",
  ),
  bound(
    "the end of a LIST_OFFSETS",
    "src/protocol/list-offsets.ts",
    "if (end - from !== FIXED_BYTES + topicBytes) return",
    "if (end - from < FIXED_BYTES) return",
  ),
  {
    ...bound(
      "the end of a PRODUCE's head",
      "src/protocol/produce.ts",
      "if (regionFrom > end) return",
      "if (regionFrom < from) return",
    ),
    covered: "the count of records is compared with the bytes behind the head, of which there are less than none",
  },
  bound(
    "the kinds of acknowledgement",
    "src/protocol/produce.ts",
    "if (into.ack < AckPolicy.NONE || into.ack > AckPolicy.FORCED) return",
    "if (into.ack < AckPolicy.NONE) return",
  ),
  {
    ...bound(
      "a count on the wire, by what follows it",
      "src/protocol/reader.ts",
      "if (value < 0 || value > Math.floor(this.remaining / itemBytes)) {",
      "if (value < 0 || itemBytes === 0) {",
    ),
    covered: "every loop over such a count also ends at the first thing that is not there",
  },
];
