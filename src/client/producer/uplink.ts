// The producer's link: made when there is something to send, and made again, after a pause that grows, when it is lost. What goes
// over it is courier.ts's.

import type { MillraceError } from "../../model/errors.js";
import { CLIENT_RECONNECT_MS_MAX, CLIENT_RECONNECT_MS_MIN } from "../../model/limits.js";
import { Backoff } from "../backoff.js";
import type { Backend, Link } from "../link.js";
import { tell } from "../observer.js";
import { isRetriable } from "../retriable.js";
import { asMillraceError, closedProducer } from "./outcome.js";
import type { Settings } from "./settings.js";

export interface UplinkOwner {
  /** Whether something waits for a link. */
  readonly isWaiting: boolean;
  up(link: Link): void;
  /** It cannot be connected, and no other try would change that. */
  hopeless(error: MillraceError): void;
}

export class Uplink {
  link: Link | undefined;
  private readonly backoff: Backoff;
  private isConnecting = false;
  private cancelRetry: (() => void) | undefined;
  /** Why there is no link. */
  trouble: MillraceError | undefined;
  private isClosed = false;

  constructor(
    private readonly backend: Backend,
    private readonly settings: Settings,
    private readonly owner: UplinkOwner,
  ) {
    this.backoff = new Backoff(CLIENT_RECONNECT_MS_MIN, CLIENT_RECONNECT_MS_MAX, settings.random);
  }

  /** Sees to it that there will be a link. */
  want(): void {
    if (this.link !== undefined || this.isConnecting || this.cancelRetry !== undefined || this.isClosed) return;
    this.isConnecting = true;
    void this.connect();
  }

  /** The broker does what it is there for: the next pause is a short one again. */
  works(): void {
    this.backoff.reset();
  }

  /** It cannot be used any more. What is open on it is rejected. */
  lost(link: Link, error: MillraceError): void {
    if (this.link !== link) return;
    this.link = undefined;
    this.failed(error);
    link.destroy();
  }

  /** Waits for the answers of what is open. */
  async close(): Promise<void> {
    const { link } = this;
    this.stop();
    await link?.close();
  }

  destroy(): void {
    const { link } = this;
    this.stop();
    link?.destroy();
  }

  private stop(): void {
    this.isClosed = true;
    this.cancelRetry?.();
    this.link = undefined;
  }

  private async connect(): Promise<void> {
    let link: Link;
    try {
      link = await this.backend.connect();
    } catch (caught) {
      this.isConnecting = false;
      const error = asMillraceError(caught);
      if (this.isClosed) return;
      if (isRetriable(error)) this.failed(error);
      else this.owner.hopeless(error);
      return;
    }
    this.isConnecting = false;
    if (this.isClosed) {
      link.destroy();
      return;
    }
    this.link = link;
    // Not `await`: what was in flight is rejected just before this, and nothing may be sent in between.
    void link.closed.then((error) => this.lost(link, error ?? closedProducer()));
    const wasInTrouble = this.trouble !== undefined;
    this.trouble = undefined;
    if (wasInTrouble) tell(this.settings.onRecovered);
    this.owner.up(link);
  }

  private failed(error: MillraceError): void {
    if (this.isClosed) return;
    this.trouble = error;
    const retryMs = this.backoff.next();
    this.cancelRetry = this.settings.time.after(retryMs, () => {
      this.cancelRetry = undefined;
      if (this.owner.isWaiting) this.want();
    });
    tell(this.settings.onLost, error, retryMs);
  }
}
