// A broker played by a test: it keeps batches in memory and answers as the protocol says, unless the test takes a request out
// of its hands to answer wrongly, late, in pieces or not at all.

import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { type ErrorCode, ErrorCodes } from "../../src/model/error-codes.js";
import { offset, partitionId } from "../../src/model/ids.js";
import type { RecordFormat } from "../../src/model/record-format.js";
import { isRequestKind, RequestKind, SUPPORTED_VERSIONS } from "../../src/protocol/api-keys.js";
import {
  decodeFetch,
  FETCH_RESPONSE_HEAD_BYTES,
  FetchHeader,
  writeFetchResponseHead,
} from "../../src/protocol/fetch.js";
import { EMPTY_RESPONSE_BYTES, writeErrorResponse } from "../../src/protocol/frame.js";
import { encodeHelloResponse } from "../../src/protocol/hello.js";
import { decodeMetadata, encodeMetadataResponse, MetadataRequest } from "../../src/protocol/metadata.js";
import {
  decodeProduce,
  PRODUCE_RESPONSE_BYTES,
  ProduceHeader,
  writeProduceResponse,
} from "../../src/protocol/produce.js";
import { concat } from "./bytes.js";
import { storedRecords } from "./stored-records.js";

export interface FakeRequest {
  readonly kind: number;
  readonly correlationId: number;
  /** The frame behind its length prefix. */
  readonly frame: Uint8Array;
  readonly socket: Socket;
  /** What the broker would have answered; nothing for a produce without acknowledgement. */
  readonly answer: Uint8Array | undefined;
}

export interface FakeOptions {
  /** Topics and how many partitions each has. Default: `orders` with one. */
  readonly topics?: Readonly<Record<string, number>>;
  readonly format?: RecordFormat;
  /** A broker from before HELLO: no METADATA v2 either. */
  readonly oldest?: boolean;
  readonly maxFrameBytes?: number;
  /** The path of a Unix socket, instead of a free port. */
  readonly path?: string;
  /** Takes a request out of the broker's hands: true = the test has seen to it. */
  readonly intercept?: (request: FakeRequest) => boolean;
}

export class FakeBroker {
  readonly requests: FakeRequest[] = [];
  /** Chunks in which the requests came. */
  chunks = 0;
  /** What lies in each partition, by `topic-partition`. */
  readonly logs = new Map<string, Uint8Array[]>();
  readonly sockets = new Set<Socket>();
  address = "";
  intercept: (request: FakeRequest) => boolean;
  private readonly server: Server;

  static async start(options: FakeOptions = {}): Promise<FakeBroker> {
    const broker = new FakeBroker(options);
    broker.server.listen(options.path === undefined ? { port: 0, host: "127.0.0.1" } : { path: options.path });
    await once(broker.server, "listening");
    const bound = broker.server.address();
    broker.address = typeof bound === "string" || bound === null ? String(options.path) : `127.0.0.1:${bound.port}`;
    onTestFinished(() => broker.stop());
    return broker;
  }

  private constructor(private readonly options: FakeOptions) {
    this.intercept = options.intercept ?? (() => false);
    for (const [topic, partitions] of Object.entries(options.topics ?? { orders: 1 })) {
      for (let partition = 0; partition < partitions; partition++) this.logs.set(`${topic}-${partition}`, []);
    }
    this.server = createServer((socket) => this.serve(socket));
  }

  get format(): RecordFormat {
    return this.options.format ?? "crc32c";
  }

  log(topic: string, partition: number): Uint8Array[] {
    const log = this.logs.get(`${topic}-${partition}`);
    if (log === undefined) throw new Error(`the fake broker has no ${topic}-${partition}`);
    return log;
  }

  /** How many requests of a kind came. */
  count(kind: number): number {
    return this.requests.filter((request) => request.kind === kind).length;
  }

  /** Cuts all connections, as a broker that dies does. */
  cut(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket));
    socket.on("error", () => undefined);
    let rest: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      this.chunks++;
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
        const length = rest.readInt32BE(0);
        this.take(socket, Uint8Array.from(rest.subarray(4, 4 + length)));
        rest = rest.subarray(4 + length);
      }
    });
  }

  private take(socket: Socket, frame: Uint8Array): void {
    const view = new DataView(frame.buffer);
    const kind = view.getInt32(0);
    const correlationId = view.getInt32(4);
    const request = { kind, correlationId, frame, socket, answer: this.answer(kind, correlationId, view) };
    this.requests.push(request);
    if (!this.intercept(request) && request.answer !== undefined) socket.write(request.answer);
  }

  private answer(kind: number, correlationId: number, view: DataView): Uint8Array | undefined {
    const end = view.byteLength;
    const known =
      isRequestKind(kind) &&
      !(
        this.options.oldest &&
        ![RequestKind.PRODUCE_V1, RequestKind.FETCH_V1, RequestKind.METADATA_V1].some((k) => k === kind)
      );
    if (!known) return errorAnswer(correlationId, ErrorCodes.UNSUPPORTED_VERSION);
    switch (kind) {
      case RequestKind.HELLO_V1:
        return encodeHelloResponse(correlationId, {
          brokerName: "fake",
          brokerVersion: "0",
          maxFrameBytes: this.options.maxFrameBytes ?? 8 * 1024 * 1024,
          maxFetchWaitMillis: 60_000,
          versions: SUPPORTED_VERSIONS,
        });
      case RequestKind.METADATA_V1:
        return this.metadata(1, correlationId, view, end);
      case RequestKind.METADATA_V2:
        return this.metadata(2, correlationId, view, end);
      case RequestKind.PRODUCE_V1:
        return this.produce(correlationId, view, end);
      case RequestKind.FETCH_V1:
        return this.fetch(correlationId, view, end);
    }
  }

  private metadata(version: 1 | 2, correlationId: number, view: DataView, end: number): Uint8Array {
    const asked = new MetadataRequest();
    const error = decodeMetadata(view, 8, end, asked);
    if (error !== ErrorCodes.NONE) return errorAnswer(correlationId, error);
    const all = Object.entries(this.options.topics ?? { orders: 1 }).sort(([a], [b]) => (a < b ? -1 : 1));
    const named = all.filter(([topic]) => asked.topics.size === 0 || asked.topics.has(topic));
    if (named.length < asked.topics.size) return errorAnswer(correlationId, ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION);
    return encodeMetadataResponse(
      version,
      correlationId,
      named.map(([topic, partitions]) => ({
        topic,
        recordFormat: this.format,
        partitions: Array.from({ length: partitions }, (_, partition) => {
          const end = offset(this.log(topic, partition).length);
          const ends = { highWatermark: end, durableOffset: end, logEndOffset: end };
          return { partition: partitionId(partition), epoch: 0, logStartOffset: offset(0), ...ends };
        }),
      })),
    );
  }

  private produce(correlationId: number, view: DataView, end: number): Uint8Array | undefined {
    const header = new ProduceHeader();
    const error = decodeProduce(view, 8, end, header);
    const log = this.logs.get(`${text(view, header.topicFrom, header.topicBytes)}-${header.partition}`);
    if (error === ErrorCodes.NONE && log !== undefined) {
      const base = log.length;
      for (let at = header.regionFrom, i = 0; i < header.records; i++) {
        const size = view.getInt32(at);
        log.push(new Uint8Array(view.buffer.slice(at + 4, at + 4 + size)));
        at += 4 + size;
      }
      const frame = new Uint8Array(PRODUCE_RESPONSE_BYTES);
      writeProduceResponse(new DataView(frame.buffer), 0, correlationId, base, log.length);
      return header.ack === AckPolicy.NONE ? undefined : frame;
    }
    if (header.ack === AckPolicy.NONE) return undefined;
    return errorAnswer(correlationId, error !== ErrorCodes.NONE ? error : ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION);
  }

  private fetch(correlationId: number, view: DataView, end: number): Uint8Array {
    const header = new FetchHeader();
    const error = decodeFetch(view, 8, end, header);
    if (error !== ErrorCodes.NONE) return errorAnswer(correlationId, error);
    const log = this.logs.get(`${text(view, header.topicFrom, header.topicBytes)}-${header.partition}`);
    if (log === undefined) return errorAnswer(correlationId, ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION);
    if (header.fetchOffset > log.length) return errorAnswer(correlationId, ErrorCodes.OFFSET_OUT_OF_RANGE);
    const stored = storedRecords(this.format, log.slice(header.fetchOffset), header.maxBytes);
    return fetchAnswer(correlationId, log.length, stored.subarray(0, header.maxBytes));
  }
}

export function errorAnswer(correlationId: number, error: ErrorCode): Uint8Array {
  const frame = new Uint8Array(EMPTY_RESPONSE_BYTES);
  writeErrorResponse(new DataView(frame.buffer), 0, correlationId, error);
  return frame;
}

export function fetchAnswer(correlationId: number, highWatermark: number, payload: Uint8Array): Uint8Array {
  const head = new Uint8Array(FETCH_RESPONSE_HEAD_BYTES);
  writeFetchResponseHead(new DataView(head.buffer), 0, correlationId, highWatermark, payload.length);
  return concat(head, payload);
}

function text(view: DataView, from: number, bytes: number): string {
  return new TextDecoder().decode(new Uint8Array(view.buffer, from, bytes));
}
