// A bad network between a client and a broker: it splits bytes anywhere, delays them, and cuts connections at random or when
// the test says so. What it does comes from the numbers it is given, so a seed repeats it as far as time allows.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface BadNetwork {
  /** Pieces are at most so long; 0: as they come. */
  readonly pieceBytesMax?: number;
  /** Each piece waits up to so long. */
  readonly delayMsMax?: number;
  /** A connection lives about so long; 0: until it is cut. */
  readonly lifeMs?: number;
  /** A connection brings about so many bytes to the client; 0: until it is cut. However slow the machine is, it brings something. */
  readonly lifeBytes?: number;
}

const PERFECT: Required<BadNetwork> = { pieceBytesMax: 0, delayMsMax: 0, lifeMs: 0, lifeBytes: 0 };

export class CuttingProxy {
  /** Connections that were cut. */
  cuts = 0;
  connections = 0;
  network: BadNetwork = PERFECT;
  /** The next answer is swallowed, and the connection cut with it. */
  swallowNextAnswer = false;
  private readonly pairs = new Set<Pair>();

  static async start(target: number, random: () => number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target, random);
    proxy.server.listen(0, "127.0.0.1");
    await once(proxy.server, "listening");
    onTestFinished(() => proxy.stop());
    return proxy;
  }

  private readonly server: Server;

  private constructor(
    /** The broker's port; may change with the broker. */
    public target: number,
    readonly random: () => number,
  ) {
    this.server = createServer((client) => this.accept(client));
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Cuts all connections, as a network does: by a reset, or by the end of the stream in the middle of it. */
  cut(): void {
    for (const pair of this.pairs) pair.cut();
  }

  stop(): void {
    this.server.close();
    this.cut();
  }

  private accept(client: Socket): void {
    this.connections++;
    const pair = new Pair(client, connect(this.target, "127.0.0.1"), this);
    this.pairs.add(pair);
    pair.onCut = () => {
      if (this.pairs.delete(pair)) this.cuts++;
    };
    pair.onEnd = () => this.pairs.delete(pair);
  }
}

/** A client's connection and the one to the broker that belongs to it. */
class Pair {
  onCut: () => void = () => undefined;
  onEnd: () => void = () => undefined;
  private readonly life: NodeJS.Timeout | undefined;
  private bytesLeft = Number.POSITIVE_INFINITY;

  constructor(
    private readonly client: Socket,
    private readonly broker: Socket,
    private readonly proxy: CuttingProxy,
  ) {
    this.carry(client, broker, false);
    this.carry(broker, client, true);
    const { lifeMs = 0, lifeBytes = 0 } = proxy.network;
    if (lifeBytes > 0) this.bytesLeft = lifeBytes * (0.2 + 1.6 * proxy.random());
    if (lifeMs > 0) this.life = setTimeout(() => this.cut(), lifeMs * (0.2 + 1.6 * proxy.random()));
  }

  cut(): void {
    this.onCut();
    if (this.proxy.random() < 0.5) this.client.resetAndDestroy();
    else this.client.destroy();
    this.broker.resetAndDestroy();
  }

  private carry(from: Socket, to: Socket, isAnswer: boolean): void {
    from.setNoDelay(true);
    from.on("error", () => undefined);
    let carried = Promise.resolve();
    from.on("data", (chunk: Buffer) => {
      if (isAnswer && this.proxy.swallowNextAnswer) {
        this.proxy.swallowNextAnswer = false;
        this.cut();
        return;
      }
      // No more of it is read until this has arrived: the network is slow, it does not store.
      from.pause();
      carried = carried.then(() => this.pieces(chunk, to, isAnswer)).then(() => void from.resume());
    });
    from.once("close", () => {
      clearTimeout(this.life);
      void carried.then(() => {
        this.onEnd();
        to.end();
        to.destroySoon();
      });
    });
  }

  private async pieces(chunk: Buffer, to: Socket, isAnswer: boolean): Promise<void> {
    const { random } = this.proxy;
    const { pieceBytesMax = 0, delayMsMax = 0 } = this.proxy.network;
    for (let at = 0; at < chunk.length && !to.destroyed; ) {
      const bytes = pieceBytesMax === 0 ? chunk.length : 1 + Math.floor(random() * pieceBytesMax);
      if (delayMsMax > 0) await new Promise((resolve) => setTimeout(resolve, random() * delayMsMax));
      to.write(chunk.subarray(at, at + bytes));
      if (isAnswer) this.bytesLeft -= bytes;
      if (this.bytesLeft <= 0) return this.cut();
      at += bytes;
    }
  }
}
