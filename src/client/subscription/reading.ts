// One iteration of a subscription: a link of its own, made when the first batch is asked for and closed however it ends.

import { MillraceError } from "../../model/errors.js";
import { onAbort, unlessAborted } from "../abort.js";
import { type CheckpointPosition, positionKey } from "../checkpoint/store.js";
import { Follower } from "../follower.js";
import type { Backend, Link } from "../link.js";
import type { ReadPosition } from "../read-position.js";
import type { RecordBatch } from "../record-batch.js";
import { SteadyLink } from "../steady-link.js";
import type { AsyncItems } from "./async-items.js";
import type { FollowOptions } from "./options.js";
import { Starts } from "./starts.js";

/** What a client gives its subscriptions. */
export interface SubscriptionHost {
  readonly backend: Backend;
  /** How long a link may take to be made again before the first answer has come, in milliseconds. */
  readonly retryMs: number;
  /** `stop` is called when the client is closed. Returns what forgets it. */
  onClose(stop: (reason: MillraceError) => void): () => void;
}

/** What is to be read, as often as somebody iterates it. */
export interface ReadingPlan {
  readonly kind: "follow" | "replay";
  readonly topics: readonly string[];
  readonly options: FollowOptions;
}

/** Where it begins when that was kept, and what is to be kept of where it began. */
export interface KeptPositions {
  load(): Promise<readonly CheckpointPosition[]>;
  /**
   * Is told, before anything of them is read, which positions began where they would not begin the next time: at the end of then, or at
   * the start of a partition that came later.
   */
  begun(positions: readonly ReadPosition[]): Promise<void>;
}

const NOTHING_KEPT: KeptPositions = { load: async () => [], begun: async () => undefined };

type Batches = readonly RecordBatch[];

export class Reading implements AsyncItems<Batches> {
  private readonly stop = new AbortController();
  private readonly answers: AsyncGenerator<Batches, void, undefined>;
  private left = false;

  constructor(
    private readonly host: SubscriptionHost,
    private readonly plan: ReadingPlan,
    private readonly kept: KeptPositions = NOTHING_KEPT,
  ) {
    this.answers = this.read();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Batches, void>> {
    try {
      return await this.answers.next();
    } catch (error) {
      // Left while it waited: whoever leaves has no use for the reason.
      if (this.left) return { done: true, value: undefined };
      throw error;
    }
  }

  /** Also while a `next` waits: that one ends, too. */
  async return(): Promise<IteratorResult<Batches, void>> {
    this.left = true;
    this.stop.abort();
    await this.answers.return();
    return { done: true, value: undefined };
  }

  private async *read(): AsyncGenerator<Batches, void, undefined> {
    const { host, stop, plan } = this;
    const { options } = plan;
    const { signal } = options;
    const forget = host.onClose((reason) => stop.abort(reason));
    const unheard = signal && onAbort(signal, () => stop.abort(signal.reason));
    try {
      signal?.throwIfAborted();
      const kept = await unlessAborted(this.kept.load(), stop.signal);
      const saved = new Map(kept.map((each) => [positionKey(each.topic, each.partition), each]));
      const starts = new Starts(plan.topics, options, plan.kind === "replay", saved);
      const first = await this.open(starts);
      const follower = new Follower({
        connect: connectAfter(first, host.backend),
        positions: starts.positions,
        maxBytes: options.answerBytes,
        // A replay has something to read in each partition that it asks for, and does not wait.
        maxWaitMs: options.maxWaitMs,
        minBytes: options.minBytes,
        signal: stop.signal,
        onLost: options.onLost,
        onRecovered: options.onRecovered,
        reconnected: (link) => starts.reconnected(link, (added) => this.tellBegun(added)),
        restart: (link, refused) => starts.restart(link, refused),
      });
      try {
        yield* follower;
      } finally {
        first.destroy();
      }
    } finally {
      forget();
      unheard?.();
    }
  }

  /** What a store fails with ends the reading, whatever it is: another link would not put it right. */
  private async tellBegun(added: readonly ReadPosition[]): Promise<void> {
    try {
      await this.kept.begun(added);
    } catch (error) {
      this.stop.abort(error);
      throw error;
    }
  }

  /** The link on which it was asked where to begin: the reading goes on over it. */
  private async open(starts: Starts): Promise<Link> {
    const { host, stop } = this;
    const links = new SteadyLink({
      connect: () => host.backend.connect(),
      address: host.backend.address,
      retryMs: host.retryMs,
    });
    try {
      const link = await links.use(async (on) => {
        await starts.open(on);
        return on;
      }, stop);
      await this.kept.begun(starts.begunAtLatest);
      return link;
    } catch (error) {
      links.destroy();
      throw error;
    }
  }
}

/** The first link is there already. */
function connectAfter(first: Link, backend: Backend): () => Promise<Link> {
  let given = false;
  return () => {
    if (given) return backend.connect();
    given = true;
    return Promise.resolve(first);
  };
}

/** What an iteration ends with when its client is closed under it. */
export const clientClosed = (address: string): MillraceError =>
  new MillraceError("CLOSED", `the client of ${address} was closed by this program`);
