// Carries the batches of all lanes over one link, as many at once as may be on their way, and tells the lanes what became of them.

import { AckPolicy } from "../../model/ack-policy.js";
import type { MillraceError } from "../../model/errors.js";
import { CLIENT_FLUSH_BYTES, PRODUCE_IN_FLIGHT_BATCHES, PRODUCE_IN_FLIGHT_BYTES } from "../../model/limits.js";
import type { Backend, Link } from "../link.js";
import { Window } from "../window.js";
import type { Batch } from "./batch.js";
import type { Lane } from "./lane.js";
import { asMillraceError, outcomeOf } from "./outcome.js";
import type { Settings } from "./settings.js";
import { Uplink } from "./uplink.js";

export interface CourierOwner {
  /** Whether something waits for a link. */
  readonly isWaiting: boolean;
  /** There is a link. */
  up(link: Link): void;
  /** There will be none: what waits is to be rejected with this. */
  hopeless(error: MillraceError): void;
}

export class Courier {
  private readonly uplink: Uplink;
  private readonly window = new Window(PRODUCE_IN_FLIGHT_BYTES, PRODUCE_IN_FLIGHT_BATCHES);
  /** Lanes that may have something to send, in turn: nobody waits behind one that always has. */
  private readonly turns = new Set<Lane>();
  /** Why links ended, for what was in flight on them. */
  private readonly causes = new WeakMap<Link, MillraceError>();
  private isFlushing = false;
  private isPumping = false;

  constructor(
    backend: Backend,
    private readonly settings: Settings,
    owner: CourierOwner,
  ) {
    this.uplink = new Uplink(backend, settings, {
      get isWaiting() {
        return owner.isWaiting;
      },
      up: (link) => {
        owner.up(link);
        this.pump();
      },
      hopeless: (error) => owner.hopeless(error),
    });
  }

  get link(): Link | undefined {
    return this.uplink.link;
  }

  /** Why there is no link. */
  get trouble(): MillraceError | undefined {
    return this.uplink.trouble;
  }

  want(): void {
    this.uplink.want();
  }

  lost(link: Link, error: MillraceError): void {
    this.uplink.lost(link, error);
  }

  wake(lane: Lane): void {
    if (!lane.maySend) return;
    this.turns.add(lane);
    if (this.uplink.link === undefined) this.uplink.want();
    else this.pump();
  }

  close(): Promise<void> {
    return this.uplink.close();
  }

  destroy(): void {
    this.uplink.destroy();
  }

  /**
   * Sends when all answers that came in one read were looked at: between the first and the second of them it would put a batch
   * behind one that was refused. And a link that broke in the same read is known to be gone by then.
   */
  private pump(): void {
    if (this.isPumping) return;
    this.isPumping = true;
    queueMicrotask(() => {
      this.isPumping = false;
      this.sendInTurn();
    });
  }

  private sendInTurn(): void {
    for (const lane of this.turns) {
      const { link } = this.uplink;
      if (link === undefined || this.window.isFull || this.isFlushing) return;
      this.turns.delete(lane);
      const batch = lane.takeOff();
      if (batch === undefined) continue;
      if (lane.maySend) this.turns.add(lane);
      if (this.settings.ack === AckPolicy.NONE) this.post(link, lane, batch);
      else this.send(link, lane, batch, this.settings.ack);
    }
  }

  private send(link: Link, lane: Lane, batch: Batch, ack: Exclude<AckPolicy, typeof AckPolicy.NONE>): void {
    const { region, expected: expectedOffset } = batch;
    const bytes = region.length;
    this.window.enter(bytes);
    link.produce(lane.topic, lane.partition, region, this.options(ack, expectedOffset)).then(
      ({ baseOffset }) => {
        this.window.leave(bytes);
        this.uplink.works();
        lane.accepted(batch, baseOffset);
        this.pump();
      },
      (error: unknown) => {
        this.window.leave(bytes);
        this.failed(link, lane, batch, asMillraceError(error));
        this.pump();
      },
    );
  }

  private options<Ack extends AckPolicy>(ack: Ack, expectedOffset: number | undefined) {
    return { ack, expectedOffset, timeoutMs: this.settings.requestTimeoutMs };
  }

  private failed(link: Link, lane: Lane, batch: Batch, error: MillraceError): void {
    // Nothing is sent over a link that has failed, not even by the lane that hears of it now.
    const lost = outcomeOf(error) === "unknown" ? this.causeOf(link, error) : error;
    lane.failed(batch, lost);
  }

  /** Why a link ended: what came first, and not that it was then closed. */
  private causeOf(link: Link, error: MillraceError): MillraceError {
    const cause = this.causes.get(link) ?? error;
    this.causes.set(link, cause);
    this.uplink.lost(link, cause);
    return cause;
  }

  /** Sends what nobody answers; while the kernel does not take it, no more of it. */
  private post(link: Link, lane: Lane, batch: Batch): void {
    link
      .produce(lane.topic, lane.partition, batch.region, this.options(AckPolicy.NONE, undefined))
      .catch((error: unknown) => {
        this.causeOf(link, asMillraceError(error));
      });
    lane.accepted(batch, undefined);
    if (link.queuedBytes < CLIENT_FLUSH_BYTES) return;
    this.isFlushing = true;
    void link.flushed().then(() => {
      this.isFlushing = false;
      this.pump();
    });
  }
}
