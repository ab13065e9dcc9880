// What producers and consumers of a load share: the broker that may be gone and come back, and the moment to end.

import type { Connection } from "../../../src/client/connection.js";
import type { RecordFormat } from "../../../src/model/record-format.js";
import { loadPackage } from "../product.js";
import type { Random } from "../random.js";
import type { Product } from "../rung.js";
import type { History } from "./history.js";

export interface LoadTarget {
  readonly product: Product;
  readonly topic: string;
  readonly recordFormat: RecordFormat;
  readonly history: History;
}

const RETRY_MS = 5;
const CONNECT_MS = 5_000;
/** Longer than any answer may take: a request that is not answered then was forgotten. */
const REQUEST_MS = 30_000;

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Where the broker is now; undefined while it is not there. Whoever restarts it says so. */
export class Address {
  #port: number | undefined;

  constructor(port?: number) {
    this.#port = port;
  }

  get port(): number | undefined {
    return this.#port;
  }

  is(port: number | undefined): void {
    this.#port = port;
  }
}

export abstract class Worker {
  protected connection: Connection | undefined;
  #stopping = false;
  #done: Promise<void> = Promise.resolve();
  /** What ended it, other than being told to. */
  failure: unknown;

  constructor(
    protected readonly target: LoadTarget,
    protected readonly address: Address,
    protected readonly random: Random,
  ) {}

  protected get stopping(): boolean {
    return this.#stopping;
  }

  start(): void {
    this.#done = this.#run();
  }

  /** Tells it to end, and resolves when nothing of it is under way. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#done;
  }

  cutConnection(): void {
    this.connection?.destroy();
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const connection = await this.#connect();
      if (connection === undefined) continue;
      this.connection = connection;
      try {
        await this.serve(connection);
      } catch (error) {
        // What a lost connection means to its requests has been written down where they were made.
        if (!this.target.history.mayFail(error)) {
          this.failure = error;
          return;
        }
      } finally {
        this.connection = undefined;
        connection.destroy();
      }
    }
  }

  /** Until it is to stop, or the connection is lost: then it rejects. */
  protected abstract serve(connection: Connection): Promise<void>;

  async #connect(): Promise<Connection | undefined> {
    const { port } = this.address;
    if (port !== undefined) {
      const { Connection } = await loadPackage(this.target.product);
      const options = { broker: `127.0.0.1:${port}`, connectTimeoutMs: CONNECT_MS, requestTimeoutMs: REQUEST_MS };
      const connection = await Connection.connect(options).catch(() => undefined);
      if (connection !== undefined) return connection;
    }
    await sleep(RETRY_MS);
    return undefined;
  }
}
