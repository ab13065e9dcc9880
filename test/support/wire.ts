// A client that knows the protocol only as bytes. Written apart from src/protocol and src/client on purpose: a broker that is
// tested with its own encoders may be wrong on both sides.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { ascii, concat, int32 } from "./bytes.js";

export const int8 = (value: number): Uint8Array => Uint8Array.of(value & 0xff);
export const int16 = (value: number): Uint8Array => Uint8Array.of((value >> 8) & 0xff, value & 0xff);
export const int64 = (value: number | bigint): Uint8Array => {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigInt64(0, BigInt(value));
  return bytes;
};
export const string = (text: string): Uint8Array => concat(int16(text.length), ascii(text));

/** A request: length, header, body. */
export function frame(apiKey: number, apiVersion: number, correlation: number, body: Uint8Array): Uint8Array {
  return concat(int32(8 + body.length), int16(apiKey), int16(apiVersion), int32(correlation), body);
}

/** `count × (int32 size | payload)`. */
export const region = (payloads: readonly Uint8Array[]): Uint8Array =>
  concat(...payloads.flatMap((payload) => [int32(payload.length), payload]));

export interface Produce {
  readonly topic?: string;
  readonly partition?: number;
  readonly ack?: number;
  readonly correlation?: number;
}

export function produce(payloads: readonly Uint8Array[], options: Produce = {}): Uint8Array {
  const { topic = "orders", partition = 0, ack = 1, correlation = 1 } = options;
  const head = concat(string(topic), int32(partition), int8(ack), int32(payloads.length));
  return frame(1, 1, correlation, concat(head, region(payloads)));
}

export interface Fetch {
  readonly topic?: string;
  readonly partition?: number;
  readonly maxBytes?: number;
  readonly correlation?: number;
}

export function fetch(offset: number | bigint, options: Fetch = {}): Uint8Array {
  const { topic = "orders", partition = 0, maxBytes = 1 << 20, correlation = 1 } = options;
  return frame(2, 1, correlation, concat(string(topic), int32(partition), int64(offset), int32(maxBytes)));
}

export interface WaitingFetch extends Fetch {
  readonly maxWaitMs?: number;
  readonly minBytes?: number;
}

/** v2. */
export function waitingFetch(offset: number | bigint, options: WaitingFetch = {}): Uint8Array {
  const {
    topic = "orders",
    partition = 0,
    maxBytes = 1 << 20,
    correlation = 1,
    maxWaitMs = 60_000,
    minBytes = 1,
  } = options;
  const position = concat(string(topic), int32(partition), int64(offset), int32(maxBytes));
  return frame(2, 2, correlation, concat(position, int32(maxWaitMs), int32(minBytes)));
}

export interface Position {
  readonly topic?: string;
  readonly partition?: number;
  readonly epoch?: number;
  readonly offset: number | bigint;
  readonly maxBytes?: number;
}

export interface MultiFetch {
  readonly replica?: number;
  readonly maxWaitMs?: number;
  readonly minBytes?: number;
  readonly minRecords?: number;
  readonly maxBytes?: number;
  readonly correlation?: number;
}

/** v3. */
export function multiFetch(positions: readonly Position[], options: MultiFetch = {}): Uint8Array {
  const { replica = -1, maxWaitMs = 0, minBytes = 0, minRecords = 0, maxBytes = 1 << 20, correlation = 1 } = options;
  const head = [replica, maxWaitMs, minBytes, minRecords, maxBytes, positions.length].map(int32);
  const each = positions.map(({ topic = "orders", partition = 0, epoch = -1, offset, maxBytes: max = 1 << 20 }) =>
    concat(string(topic), int32(partition), int32(epoch), int64(offset), int32(max)),
  );
  return frame(2, 3, correlation, concat(...head, ...each));
}

/** v2. */
export function produceAt(
  expected: number | bigint,
  payloads: readonly Uint8Array[],
  options: Produce = {},
): Uint8Array {
  const { topic = "orders", partition = 0, ack = 1, correlation = 1 } = options;
  const head = concat(string(topic), int32(partition), int8(ack), int64(expected), int32(payloads.length));
  return frame(1, 2, correlation, concat(head, region(payloads)));
}

export const listOffsets = (
  timestampMs: number | bigint,
  topic = "orders",
  partition = 0,
  correlation = 1,
): Uint8Array => frame(5, 1, correlation, concat(string(topic), int32(partition), int64(timestampMs)));

export const metadata = (topics: readonly string[] = [], version = 1, correlation = 1): Uint8Array =>
  frame(3, version, correlation, concat(int32(topics.length), ...topics.map(string)));

export const hello = (correlation = 1): Uint8Array => frame(4, 1, correlation, new Uint8Array(0));

/** Reads one after the other what a body has. */
export class Fields {
  private at = 0;
  private readonly view: DataView;
  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  int8 = (): number => this.view.getInt8(this.move(1));
  int16 = (): number => this.view.getInt16(this.move(2));
  int32 = (): number => this.view.getInt32(this.move(4));
  int64 = (): number => Number(this.view.getBigInt64(this.move(8)));
  bytesOf = (length: number): Uint8Array => this.bytes.slice(this.move(length), this.at);
  string = (): string => Buffer.from(this.bytesOf(this.view.getUint16(this.move(2)))).toString();
  get left(): number {
    return this.bytes.length - this.at;
  }
  private move(bytes: number): number {
    const from = this.at;
    this.at += bytes;
    return from;
  }
}

export interface Response {
  readonly correlation: number;
  readonly error: number;
  readonly body: Uint8Array;
}

export interface Produced {
  readonly base: number;
  readonly end: number;
}

export function readProduced({ body }: Response): Produced {
  const fields = new Fields(body);
  const produced = { base: fields.int64(), end: fields.int64() };
  if (fields.left !== 0) throw new Error("bytes left over in a PRODUCE response");
  return produced;
}

export interface Fetched {
  readonly highWatermark: number;
  readonly payload: Uint8Array;
}

export function readFetched({ body }: Response): Fetched {
  const fields = new Fields(body);
  const highWatermark = fields.int64();
  const payload = fields.bytesOf(fields.int32());
  if (fields.left !== 0) throw new Error("bytes left over in a FETCH response");
  return { highWatermark, payload };
}

export interface FetchedPart extends Fetched {
  readonly topic: string;
  readonly partition: number;
  readonly error: number;
  readonly epoch: number;
  readonly epochStart: number;
  readonly logStart: number;
  readonly logEnd: number;
}

export function readMultiFetched({ body }: Response): FetchedPart[] {
  const fields = new Fields(body);
  const parts = Array.from({ length: fields.int32() }, () => ({
    topic: fields.string(),
    partition: fields.int32(),
    error: fields.int16(),
    epoch: fields.int32(),
    epochStart: fields.int64(),
    logStart: fields.int64(),
    highWatermark: fields.int64(),
    logEnd: fields.int64(),
    payload: fields.bytesOf(fields.int32()),
  }));
  if (fields.left !== 0) throw new Error("bytes left over in a FETCH v3 response");
  return parts;
}

export function readListed({ body }: Response): { readonly offset: number; readonly timestampMs: number } {
  const fields = new Fields(body);
  const listed = { offset: fields.int64(), timestampMs: fields.int64() };
  if (fields.left !== 0) throw new Error("bytes left over in a LIST_OFFSETS response");
  return listed;
}

export interface Stored {
  readonly payloads: readonly Uint8Array[];
  /** Bytes behind the last whole record. */
  readonly tail: number;
}

/** Takes whole records from what a FETCH brought; `headerBytes` is 4 for plain and 8 for crc32c. Sums are not looked at. */
export function readStored(payload: Uint8Array, headerBytes = 8): Stored {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const payloads: Uint8Array[] = [];
  let at = 0;
  while (at + headerBytes <= payload.length && at + headerBytes + view.getInt32(at) <= payload.length) {
    payloads.push(payload.slice(at + headerBytes, at + headerBytes + view.getInt32(at)));
    at += headerBytes + view.getInt32(at);
  }
  return { payloads, tail: payload.length - at };
}

/** One connection. Responses come in the order in which they arrived, whatever they answer. */
export class Wire {
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  private wake: () => void = () => undefined;
  private gone = false;
  /** Resolves when the connection is closed, by whomever, also by a reset. */
  readonly closed: Promise<void>;

  private constructor(readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      this.chunks.push(chunk);
      this.bytes += chunk.length;
      this.wake();
    });
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        this.gone = true;
        this.wake();
        resolve();
      });
    });
  }

  static async connect(target: number | string, host = "127.0.0.1"): Promise<Wire> {
    const socket = typeof target === "number" ? connect(target, host) : connect(target);
    await once(socket, "connect");
    return new Wire(socket);
  }

  /** Bytes that came and were not taken. */
  get buffered(): number {
    return this.bytes;
  }

  get isClosed(): boolean {
    return this.gone;
  }

  send(...parts: readonly Uint8Array[]): void {
    this.socket.write(parts.length === 1 ? parts[0] : concat(...parts));
  }

  /** The next response. Rejects when the connection ends before it is whole. */
  async response(): Promise<Response> {
    const length = new DataView((await this.take(4)).buffer).getInt32(0);
    const bytes = await this.take(length);
    const fields = new Fields(bytes);
    return { correlation: fields.int32(), error: fields.int16(), body: fields.bytesOf(length - 6) };
  }

  async responses(count: number): Promise<Response[]> {
    const all: Response[] = [];
    while (all.length < count) all.push(await this.response());
    return all;
  }

  async ask(request: Uint8Array): Promise<Response> {
    this.send(request);
    return this.response();
  }

  destroy(): void {
    this.socket.destroy();
  }

  private async take(count: number): Promise<Uint8Array> {
    while (this.bytes < count) {
      if (this.gone) throw new Error(`the connection ended with ${this.bytes} of ${count} bytes`);
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    const taken = new Uint8Array(count);
    for (let at = 0; at < count; ) {
      const [first] = this.chunks;
      const part = first.subarray(0, count - at);
      taken.set(part, at);
      at += part.length;
      if (part.length === first.length) this.chunks.shift();
      else this.chunks[0] = first.subarray(part.length);
    }
    this.bytes -= count;
    return taken;
  }
}
