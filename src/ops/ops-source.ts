// What the side port shows, as one thing that its parts are given: the broker and its server once they are there, how they
// were set, and the clocks.

import type { Broker } from "../broker/broker.js";
import type { Clock, Timers } from "../model/clock.js";
import type { Server } from "../server/server.js";
import type { Resolved } from "./settings/resolve.js";

export interface OpsSource {
  readonly version: string;
  readonly resolved: Resolved;
  /** Undefined while partitions are being opened. */
  readonly broker: () => Broker | undefined;
  readonly server: () => Server | undefined;
  readonly opsPort: () => number;
  /** As the limit of open files allows. */
  readonly connectionsMax: number;
  readonly stopping: () => boolean;
  readonly clock: Clock;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  readonly timers: Timers;
}
