// A broker played by a test: it keeps batches in memory and answers as the protocol says, in order, waiting fetches too,
// unless the test takes a request out of its hands to answer wrongly, late, in pieces or not at all.

import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { type ErrorCode, ErrorCodes } from "../../src/model/error-codes.js";
import type { RecordFormat } from "../../src/model/record-format.js";
import {
  apiKeyOf,
  apiVersionOf,
  isRequestKind,
  OLDEST_VERSIONS,
  RequestKind,
  SUPPORTED_VERSIONS,
  type VersionRange,
} from "../../src/protocol/api-keys.js";
import { encodeHelloResponse } from "../../src/protocol/hello.js";
import { type AskedFetch, askedFetch, errorAnswer, FakeAnswers, FakeLog } from "./fake-answers.js";

export { askedFetch, errorAnswer, type FakeLog, fetchAnswer, fetchAnswerTo } from "./fake-answers.js";

export interface FakeRequest {
  readonly kind: number;
  readonly correlationId: number;
  /** The frame behind its length prefix. */
  readonly frame: Uint8Array;
  readonly socket: Socket;
  /** The frame as a fetch, when it is one and parses. */
  readonly fetch: AskedFetch | undefined;
  /** What the broker would answer now, without waiting; nothing for a produce without acknowledgement. */
  readonly answer: Uint8Array | undefined;
}

export interface FakeOptions {
  /** Topics and how many partitions each has. Default: `orders` with one. */
  readonly topics?: Readonly<Record<string, number>>;
  readonly format?: RecordFormat;
  /** A broker from before HELLO. */
  readonly oldest?: boolean;
  /** What it speaks and announces. Default: everything. */
  readonly versions?: readonly VersionRange[];
  readonly maxFrameBytes?: number;
  readonly maxFetchWaitMs?: number;
  /** A port that it had before. Default: a free one. */
  readonly port?: number;
  /** The path of a Unix socket, instead of a port. */
  readonly path?: string;
  /** Takes a request out of the broker's hands: true = the test has seen to it. */
  readonly intercept?: (request: FakeRequest) => boolean;
}

/** How often a waiting fetch is looked at. */
const LOOK_MS = 2;

export class FakeBroker {
  readonly requests: FakeRequest[] = [];
  /** Chunks in which the requests came. */
  chunks = 0;
  /** How often somebody has connected. */
  connections = 0;
  /** What lies in each partition, by `topic-partition`. */
  readonly logs = new Map<string, FakeLog>();
  readonly sockets = new Set<Socket>();
  address = "";
  intercept: (request: FakeRequest) => boolean;
  /** Refuses a request with this error, before anything of it is carried out. */
  refuse: (request: Pick<FakeRequest, "kind" | "frame">) => ErrorCode | undefined = () => undefined;
  private readonly answers: FakeAnswers;
  private readonly versions: readonly VersionRange[];
  private readonly server: Server;
  private stopped = false;

  static async start(options: FakeOptions = {}): Promise<FakeBroker> {
    const broker = new FakeBroker(options);
    await broker.listen(options.path === undefined ? { port: options.port ?? 0, host: "127.0.0.1" } : options);
    onTestFinished(() => broker.stop());
    return broker;
  }

  private constructor(private readonly options: FakeOptions) {
    this.intercept = options.intercept ?? (() => false);
    this.versions = options.oldest ? OLDEST_VERSIONS : (options.versions ?? SUPPORTED_VERSIONS);
    const topics = options.topics ?? { orders: 1 };
    for (const [topic, partitions] of Object.entries(topics)) {
      for (let partition = 0; partition < partitions; partition++)
        this.logs.set(`${topic}-${partition}`, new FakeLog());
    }
    this.answers = new FakeAnswers(topics, this.logs, this.format);
    this.server = createServer((socket) => this.serve(socket));
  }

  private async listen(where: {
    readonly port?: number;
    readonly host?: string;
    readonly path?: string;
  }): Promise<void> {
    this.server.listen(where);
    await once(this.server, "listening");
    const bound = this.server.address();
    this.address = typeof bound === "string" || bound === null ? String(where.path) : `127.0.0.1:${bound.port}`;
  }

  get port(): number {
    return Number(this.address.split(":")[1]);
  }

  get format(): RecordFormat {
    return this.options.format ?? "crc32c";
  }

  /** The records of a partition. */
  log(topic: string, partition: number): Uint8Array[] {
    return this.partition(topic, partition).records;
  }

  partition(topic: string, partition: number): FakeLog {
    const log = this.logs.get(`${topic}-${partition}`);
    if (log === undefined) throw new Error(`the fake broker has no ${topic}-${partition}`);
    return log;
  }

  /** How many requests of a kind came. */
  count(kind: number): number {
    return this.requests.filter((request) => request.kind === kind).length;
  }

  /** The fetches that came, of every version. */
  get fetches(): AskedFetch[] {
    return this.requests.flatMap(({ fetch }) => fetch ?? []);
  }

  /** Cuts all connections, as a broker that dies does. */
  cut(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  stop(): void {
    this.stopped = true;
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private serve(socket: Socket): void {
    this.connections++;
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket));
    socket.on("error", () => undefined);
    const replies = new Replies(socket);
    let rest: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      this.chunks++;
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
        const length = rest.readInt32BE(0);
        this.take(socket, replies, Uint8Array.from(rest.subarray(4, 4 + length)));
        rest = rest.subarray(4 + length);
      }
    });
  }

  /** Carries a request out that was kept back, as a broker that comes to it late; nobody is answered. */
  carryOut(frame: Uint8Array): void {
    const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
    this.answer(view.getInt32(0), view.getInt32(4), view, undefined);
  }

  private take(socket: Socket, replies: Replies, frame: Uint8Array): void {
    const view = new DataView(frame.buffer);
    const kind = view.getInt32(0);
    const correlationId = view.getInt32(4);
    const asked = this.speaks(kind) ? askedFetch(frame) : undefined;
    const fetch = typeof asked === "object" ? asked : undefined;
    const error = typeof asked === "number" ? asked : this.refuse({ kind, frame });
    const answer =
      error === undefined ? this.answer(kind, correlationId, view, fetch) : errorAnswer(correlationId, error);
    const request = { kind, correlationId, frame, socket, fetch, answer };
    this.requests.push(request);
    if (this.intercept(request)) return;
    if (fetch !== undefined) replies.add(() => this.waited(fetch, socket));
    else if (answer !== undefined) replies.add(() => answer);
  }

  private speaks(kind: number): boolean {
    const [key, version] = [apiKeyOf(kind), apiVersionOf(kind)];
    const announced = this.versions.some(
      ({ apiKey, minVersion, maxVersion }) => apiKey === key && minVersion <= version && version <= maxVersion,
    );
    return isRequestKind(kind) && announced;
  }

  private answer(
    kind: number,
    correlationId: number,
    view: DataView,
    fetch: AskedFetch | undefined,
  ): Uint8Array | undefined {
    if (!this.speaks(kind) || !isRequestKind(kind)) return errorAnswer(correlationId, ErrorCodes.UNSUPPORTED_VERSION);
    switch (kind) {
      case RequestKind.HELLO_V1:
        return encodeHelloResponse(correlationId, {
          brokerName: "fake",
          brokerVersion: "0",
          maxFrameBytes: this.options.maxFrameBytes ?? 8 * 1024 * 1024,
          maxFetchWaitMillis: this.options.maxFetchWaitMs ?? 60_000,
          versions: this.versions,
        });
      case RequestKind.METADATA_V1:
        return this.answers.metadata(1, correlationId, view);
      case RequestKind.METADATA_V2:
        return this.answers.metadata(2, correlationId, view);
      case RequestKind.PRODUCE_V1:
        return this.answers.produce(1, correlationId, view);
      case RequestKind.PRODUCE_V2:
        return this.answers.produce(2, correlationId, view);
      case RequestKind.LIST_OFFSETS_V1:
        return this.answers.listOffsets(correlationId, view);
      default:
        return fetch === undefined ? undefined : this.answers.fetch(fetch);
    }
  }

  /** The answer when there is enough for it or its time is over; at once when it is so now. */
  private waited(fetch: AskedFetch, socket: Socket): Uint8Array | Promise<Uint8Array> {
    const deadline = performance.now() + Math.min(fetch.maxWaitMs, this.options.maxFetchWaitMs ?? 60_000);
    const isOver = () =>
      this.answers.isEnough(fetch) || performance.now() >= deadline || this.stopped || socket.destroyed;
    if (isOver()) return this.answers.fetch(fetch);
    return new Promise((resolve) => {
      const look = setInterval(() => {
        if (!isOver()) return;
        clearInterval(look);
        resolve(this.answers.fetch(fetch));
      }, LOOK_MS);
    });
  }
}

/** Answers of one connection, in the order of its requests. */
class Replies {
  private waiting: Promise<void> | undefined;

  constructor(private readonly socket: Socket) {}

  /** `make` is called when it is this one's turn. */
  add(make: () => Uint8Array | Promise<Uint8Array>): void {
    if (this.waiting === undefined) {
      const reply = make();
      if (reply instanceof Uint8Array) this.socket.write(reply);
      else this.waitFor(reply.then((bytes) => void this.socket.write(bytes)));
      return;
    }
    this.waitFor(this.waiting.then(async () => void this.socket.write(await make())));
  }

  private waitFor(work: Promise<void>): void {
    const waiting = work.then(() => {
      if (this.waiting === waiting) this.waiting = undefined;
    });
    this.waiting = waiting;
  }
}
