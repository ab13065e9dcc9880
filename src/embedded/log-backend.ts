// Where a client's links come from when its topics are logs of this process.

import type { Backend, Link } from "../client/link.js";
import { MillraceError } from "../model/errors.js";
import { LogLink } from "./log-link.js";
import type { LogTopics } from "./log-topics.js";

export class LogBackend implements Backend {
  private closing: Promise<void> | undefined;

  constructor(
    /** For messages. */
    readonly address: string,
    private readonly topics: LogTopics,
    /** Closes what was opened for it. */
    private readonly release: () => Promise<void>,
  ) {}

  async connect(): Promise<Link> {
    if (this.closing !== undefined) throw new MillraceError("CLOSED", `the client of ${this.address} was closed`);
    return new LogLink(this.address, this.topics);
  }

  close(): Promise<void> {
    this.closing ??= this.leave();
    return this.closing;
  }

  private async leave(): Promise<void> {
    this.topics.group.leave();
    await this.release();
  }
}
