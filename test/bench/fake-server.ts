// A broker played by a test: speaks PRODUCE v1 and FETCH v1, counts what really came, and can stall, refuse, cut its answers into pieces
// or answer wrongly. The load generator's report is held against its counts.

import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

export interface FakeOptions {
  /** From the first request on: answers wait between these two times, in milliseconds. */
  readonly stall?: readonly [from: number, to: number];
  /** Error code for the n-th request (from 0) of the server; 0 is none. */
  readonly errorFor?: (request: number) => number;
  /** Bytes written at once; undefined: each answer whole. */
  readonly pieces?: number;
  /** The correlation id that goes out for the one that came in. */
  readonly correlation?: (id: number, request: number) => number;
  /** FETCH: the payload for a request. */
  readonly payload?: (fetchOffset: number, maxBytes: number) => Uint8Array;
  /** Ends the connection instead of answering this request. */
  readonly hangUpAt?: number;
}

export class FakeServer {
  requests = 0;
  records = 0;
  payloadBytesOut = 0;
  bytesIn = 0;
  bytesOut = 0;
  readonly partitions = new Map<number, number>();
  readonly offsets: number[] = [];
  /** When each request came, in milliseconds after the first. */
  readonly arrivals: number[] = [];
  /** The most requests that were waiting for an answer at once. */
  waitingMax = 0;

  readonly #options: FakeOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #first = 0;
  #nextOffset = 0;
  #held: (() => void)[] = [];

  private constructor(options: FakeOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async start(options: FakeOptions = {}): Promise<FakeServer> {
    const fake = new FakeServer(options);
    fake.#server.listen(0, "127.0.0.1");
    await once(fake.#server, "listening");
    return fake;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    let rest = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      this.bytesIn += chunk.length;
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let at = 0;
      while (rest.length - at >= 4 && rest.length - at >= 4 + rest.readInt32BE(at)) {
        const length = rest.readInt32BE(at);
        this.#request(socket, rest.subarray(at + 4, at + 4 + length));
        at += 4 + length;
      }
      rest = rest.subarray(at);
    });
  }

  #request(socket: Socket, frame: Buffer): void {
    const request = this.requests++;
    const now = performance.now();
    if (request === 0) this.#first = now;
    this.arrivals.push(now - this.#first);
    const { errorFor, correlation, hangUpAt } = this.#options;
    if (request === hangUpAt) {
      socket.destroy();
      return;
    }
    const id = frame.readInt32BE(4);
    const topicEnd = 10 + frame.readUInt16BE(8);
    const partition = frame.readInt32BE(topicEnd);
    this.partitions.set(partition, (this.partitions.get(partition) ?? 0) + 1);
    const error = errorFor?.(request) ?? 0;
    const body = frame.subarray(topicEnd + 4);
    const answer = frame.readInt16BE(0) === 1 ? this.#produce(body, error) : this.#fetch(body, error);
    if (answer === undefined) return;
    const head = Buffer.alloc(10);
    head.writeInt32BE(6 + answer.length, 0);
    head.writeInt32BE(correlation?.(id, request) ?? id, 4);
    head.writeInt16BE(error, 8);
    this.#send(socket, Buffer.concat([head, answer]));
  }

  #produce(body: Buffer, error: number): Buffer | undefined {
    const records = body.readInt32BE(1);
    let at = 5;
    let counted = 0;
    for (; at < body.length; counted++) at += 4 + body.readInt32BE(at);
    if (counted !== records || at !== body.length) throw new Error("the generator sent a region that does not add up");
    this.records += counted;
    if (body.readInt8(0) === 0) {
      this.#nextOffset += counted;
      return undefined;
    }
    if (error !== 0) return Buffer.alloc(0);
    const answer = Buffer.alloc(16);
    answer.writeBigInt64BE(BigInt(this.#nextOffset), 0);
    this.#nextOffset += counted;
    answer.writeBigInt64BE(BigInt(this.#nextOffset), 8);
    return answer;
  }

  #fetch(body: Buffer, error: number): Buffer {
    const offset = Number(body.readBigInt64BE(0));
    this.offsets.push(offset);
    if (error !== 0) return Buffer.alloc(0);
    const payload = this.#options.payload?.(offset, body.readInt32BE(8)) ?? new Uint8Array();
    this.payloadBytesOut += payload.length;
    const head = Buffer.alloc(12);
    head.writeBigInt64BE(1_000_000n, 0);
    head.writeInt32BE(payload.length, 8);
    return Buffer.concat([head, payload]);
  }

  #send(socket: Socket, bytes: Buffer): void {
    const { stall, pieces = bytes.length } = this.#options;
    const write = (): void => {
      this.bytesOut += bytes.length;
      for (let at = 0; at < bytes.length; at += pieces) socket.write(bytes.subarray(at, at + pieces));
    };
    const [from, to] = stall ?? [0, 0];
    const age = performance.now() - this.#first;
    if (this.#held.length === 0 && (age < from || age >= to)) {
      write();
      return;
    }
    if (this.#held.length === 0) {
      setTimeout(() => {
        const held = this.#held;
        this.#held = [];
        for (const release of held) release();
      }, to - age);
    }
    this.#held.push(write);
    this.waitingMax = Math.max(this.waitingMax, this.#held.length);
  }
}
