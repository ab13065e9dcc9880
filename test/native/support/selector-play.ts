// A selector with its tables and a handler given by the test, and clients of plain sockets for it.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import {
  CloseReason,
  FLUSH_COLUMNS,
  FlushColumn,
  FRAME_COLUMNS,
  FrameColumn,
  type NativeFile,
  type NativeSelector,
  native,
  SELECTOR_COUNTERS,
  type SelectorOptions,
} from "../../../src/native/binding.js";

export const defaults = {
  maxFrameBytes: 1 << 20,
  connectionsMax: 100,
  requestsMax: 1024,
  turnBytesIn: 256 * 1024,
  turnBytesOut: 1 << 20,
  queuedBytesMax: 256 << 20,
  connectionQueuedBytesMax: 16 << 20,
  frameTimeoutMs: 30_000,
  writeStallMs: 30_000,
  idleMs: 0,
  zeroCopy: true,
};
export type Settings = Partial<typeof defaults>;

/** The typed arrays of a selector, of a size that fits the settings. */
export function tables(settings: typeof defaults): Omit<SelectorOptions, keyof typeof defaults> {
  return {
    arena: new Uint8Array(settings.maxFrameBytes + 4 + settings.turnBytesIn * 4),
    replies: new Uint8Array(1 << 20),
    frames: new Int32Array(4096 * FRAME_COLUMNS),
    opened: new Int32Array(256),
    closed: new Int32Array(2 * 256),
    flushes: new Int32Array(4096 * FLUSH_COLUMNS),
    counters: new Float64Array(SELECTOR_COUNTERS),
  };
}

export interface Reply {
  readonly completed?: number;
  readonly file?: NativeFile;
  readonly position?: number;
  readonly sliceBytes?: number;
}

export class SelectorPlay {
  readonly selector: NativeSelector;
  readonly counters: Float64Array;
  readonly opened: number[] = [];
  readonly closed = new Map<number, CloseReason>();
  /** Connections whose peers send nothing more and have requests open, as they were told. */
  readonly inputEnded: number[] = [];
  turns = 0;
  /** Called for each frame with a copy of it; answers with `reply`. */
  onFrame: (connection: number, frame: Buffer) => void = (connection, frame) => this.reply(connection, frame);
  port = 0;
  private readonly tables: ReturnType<typeof tables>;
  private rows = 0;
  private used = 0;
  private files: NativeFile[] = [];
  private changed: (() => void)[] = [];

  constructor(settings: Settings = {}) {
    const all = { ...defaults, ...settings };
    this.tables = tables(all);
    this.counters = this.tables.counters;
    this.selector = new native.Selector({ ...all, ...this.tables }, (frames, opened, closed) =>
      this.turn(frames, opened, closed),
    );
    onTestFinished(() => this.selector.destroy());
  }

  listen(): this {
    this.port = this.selector.listen("127.0.0.1", 0);
    return this;
  }

  counter(which: number): number {
    return this.counters[which];
  }

  /** Adds a row. They are sent at the end of the turn, or by `send`. */
  reply(
    connection: number,
    bytes: Uint8Array,
    { completed = 1, file, position = 0, sliceBytes = 0 }: Reply = {},
  ): void {
    const { replies, flushes } = this.tables;
    if (this.used + bytes.length > replies.length || (this.rows + 1) * FLUSH_COLUMNS > flushes.length) this.send();
    replies.set(bytes, this.used);
    const row = this.rows++ * FLUSH_COLUMNS;
    flushes[row + FlushColumn.CONNECTION] = connection;
    flushes[row + FlushColumn.OFFSET] = this.used;
    flushes[row + FlushColumn.LENGTH] = bytes.length;
    flushes[row + FlushColumn.COMPLETED] = completed;
    flushes[row + FlushColumn.FILE] = file === undefined ? -1 : this.files.length;
    flushes[row + FlushColumn.POSITION] = position;
    flushes[row + FlushColumn.SLICE_BYTES] = sliceBytes;
    if (file !== undefined) this.files.push(file);
    this.used += bytes.length;
  }

  send(): void {
    this.selector.flush(this.rows, this.files);
    this.rows = 0;
    this.used = 0;
    this.files = [];
  }

  /** Waits until it holds; looked at after each turn, and now and then. */
  async until(holds: () => boolean, ms = 10_000): Promise<void> {
    const deadline = performance.now() + ms;
    while (!holds()) {
      if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${holds}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 20);
        this.changed.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** `halfOpen`: it does not end its side because the peer did. */
  async client(halfOpen = false): Promise<Client> {
    const before = this.opened.length;
    const client = await Client.connect(this.port, halfOpen);
    await this.until(() => this.opened.length > before);
    client.id = this.opened[this.opened.length - 1];
    return client;
  }

  private turn(frames: number, opened: number, closed: number): void {
    this.turns++;
    const { tables } = this;
    for (let i = 0; i < opened; i++) this.opened.push(tables.opened[i]);
    for (let i = 0, at = 0; i < frames; i++, at += FRAME_COLUMNS) {
      const offset = tables.frames[at + FrameColumn.OFFSET];
      const frame = Buffer.from(tables.arena.slice(offset, offset + tables.frames[at + FrameColumn.LENGTH]));
      this.onFrame(tables.frames[at + FrameColumn.CONNECTION], frame);
    }
    for (let i = 0; i < closed; i++) {
      const reason = tables.closed[2 * i + 1] as CloseReason;
      if (reason === CloseReason.INPUT_ENDED) this.inputEnded.push(tables.closed[2 * i]);
      else this.closed.set(tables.closed[2 * i], reason);
    }
    this.send();
    const waiting = this.changed;
    this.changed = [];
    for (const changed of waiting) changed();
  }
}

export const reasonName = (reason: CloseReason | undefined): string | undefined =>
  Object.entries(CloseReason).find(([, value]) => value === reason)?.[0];

/** A plain socket that keeps what it got. */
export class Client {
  id = 0;
  ended = false;
  closed = false;
  received = 0;
  private readonly chunks: Buffer[] = [];
  private wake: () => void = () => undefined;

  constructor(readonly socket: Socket) {
    onTestFinished(() => {
      socket.destroy();
    });
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      this.chunks.push(chunk);
      this.received += chunk.length;
      this.wake();
    });
    socket.on("end", () => {
      this.ended = true;
      this.wake();
    });
    socket.on("close", () => {
      this.closed = true;
      this.wake();
    });
  }

  static async connect(target: number | string, allowHalfOpen = false): Promise<Client> {
    const socket =
      typeof target === "number"
        ? connect({ port: target, host: "127.0.0.1", allowHalfOpen })
        : connect({ path: target, allowHalfOpen });
    const client = new Client(socket);
    await once(socket, "connect");
    return client;
  }

  /** Everything received, once it is so many bytes. Rejects when the stream ends before. */
  async bytes(count: number): Promise<Buffer> {
    await this.until(() => this.received >= count || this.closed);
    return Buffer.concat(this.chunks);
  }

  /** Everything received until the peer ended or reset the connection. */
  async all(): Promise<Buffer> {
    await this.until(() => this.ended || this.closed);
    return Buffer.concat(this.chunks);
  }

  write(...parts: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(parts));
  }

  private async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }
}

/** A length prefix, then the contents. */
export function framed(contents: Uint8Array | string): Buffer {
  const bytes = Buffer.from(contents);
  const prefix = Buffer.alloc(4);
  prefix.writeInt32BE(bytes.length);
  return Buffer.concat([prefix, bytes]);
}

export function prefix(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(length);
  return bytes;
}

/** Bytes that tell every position from its neighbours. */
export function pattern(bytes: number, seed = 0): Buffer {
  const all = Buffer.alloc(bytes);
  for (let i = 0; i < bytes; i++) all[i] = (i * 131 + (i >> 8) * 7 + (i >> 16) + seed) & 0xff;
  return all;
}
