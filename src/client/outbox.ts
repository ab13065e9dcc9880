// Requests on their way to the socket. They are written straight into a chunk, and all of one tick leave in one write: a
// thousand small requests are then one system call and not a thousand.

import type { Socket } from "node:net";
import { CLIENT_CHUNK_BYTES, CLIENT_FLUSH_BYTES } from "../model/limits.js";

export class Outbox {
  /** The chunk that the last {@link reserve} took from. */
  bytes: Uint8Array = new Uint8Array(0);
  view = new DataView(this.bytes.buffer);
  private from = 0;
  private at = 0;
  private ready: Uint8Array[] = [];
  private readyBytes = 0;
  private scheduled = false;

  constructor(private readonly socket: Pick<Socket, "write" | "cork" | "uncork" | "writableLength">) {}

  /** Bytes that the kernel has not taken yet. */
  get queuedBytes(): number {
    return this.readyBytes + (this.at - this.from) + this.socket.writableLength;
  }

  /** Room for one request in {@link bytes}; answers where. The caller fills all of it before anything else happens. */
  reserve(bytes: number): number {
    if (this.at + bytes > this.bytes.length) this.nextChunk(Math.max(bytes, CLIENT_CHUNK_BYTES));
    const from = this.at;
    this.at += bytes;
    if (!this.scheduled) {
      this.scheduled = true;
      // Not nextTick and not a microtask: of a hundred callers that each await an answer that came in one read, those
      // behind one more `await` would miss the write. This runs when all of them have had their turn.
      setImmediate(() => this.flush());
    }
    return from;
  }

  /** Puts a request that was encoded elsewhere behind the others. */
  push(request: Uint8Array): void {
    const at = this.reserve(request.length);
    this.bytes.set(request, at);
  }

  /** To be called after a request was filled in: sends early when there is much. */
  filled(): void {
    if (this.readyBytes + this.at - this.from >= CLIENT_FLUSH_BYTES) this.flush();
  }

  flush(): void {
    this.scheduled = false;
    this.cut();
    const { ready } = this;
    if (ready.length === 0) return;
    this.ready = [];
    this.readyBytes = 0;
    if (ready.length === 1) {
      this.socket.write(ready[0]);
      return;
    }
    this.socket.cork();
    for (const piece of ready) this.socket.write(piece);
    this.socket.uncork();
  }

  /** Forgets what the socket was not given yet. */
  drop(): void {
    this.ready = [];
    this.readyBytes = 0;
    this.from = this.at;
  }

  /** What was filled since the last cut becomes ready. The rest of the chunk is used on: nobody else writes there. */
  private cut(): void {
    if (this.at === this.from) return;
    this.ready.push(this.bytes.subarray(this.from, this.at));
    this.readyBytes += this.at - this.from;
    this.from = this.at;
  }

  private nextChunk(bytes: number): void {
    this.cut();
    // Not from Buffer's shared pool: a chunk lives until the socket took it.
    this.bytes = Buffer.allocUnsafeSlow(bytes);
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength);
    this.from = 0;
    this.at = 0;
  }
}
