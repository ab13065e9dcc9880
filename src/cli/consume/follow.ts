// All partitions beside each other, without an end, over restarts of the broker and cuts of the network.

import type { Connection } from "../../client/connection.js";
import { Follower } from "../../client/follower.js";
import type { ReadPosition } from "../../client/read-position.js";
import { FETCH_PARTITIONS_MAX } from "../../model/limits.js";
import type { Messages } from "../io.js";
import type { Printer } from "./printer.js";

export interface Following {
  readonly positions: readonly ReadPosition[];
  readonly connect: () => Promise<Connection>;
  /** For messages. */
  readonly address: string;
}

/** Ends when the printer has all it may print. Throws what no other connection puts right. */
export async function printFollowing(following: Following, printer: Printer, stderr: Messages): Promise<void> {
  const { positions, connect, address } = following;
  const stop = new AbortController();
  const outages = new Outages(address, stderr);
  const { signal } = stop;
  const groups = Array.from({ length: Math.ceil(positions.length / FETCH_PARTITIONS_MAX) }, (_, group) =>
    positions.slice(group * FETCH_PARTITIONS_MAX, (group + 1) * FETCH_PARTITIONS_MAX),
  );
  const follow = async (group: readonly ReadPosition[]): Promise<void> => {
    const follower = new Follower({ positions: group, connect, signal, ...outages.heard() });
    for await (const batches of follower) {
      for (const batch of batches) await printer.print(batch, Number.POSITIVE_INFINITY);
      if (printer.isDone) return;
      // What is there is seen now, not when a piece is full.
      if (follower.isCaughtUp) await printer.flush();
    }
  };
  try {
    // One that ends takes the others along, whether it has failed or is done.
    await Promise.race(groups.map((group) => follow(group)));
  } finally {
    stop.abort();
  }
}

/** Tells of each outage once, however many connections it takes down and however often they are tried. */
class Outages {
  private down = 0;

  constructor(
    private readonly address: string,
    private readonly stderr: Messages,
  ) {}

  /** For one connection. */
  heard() {
    let isDown = false;
    return {
      onLost: ({ message }: Error): void => {
        if (isDown) return;
        isDown = true;
        if (this.down++ === 0) this.stderr.write(`millrace: ${message}; trying again\n`);
      },
      onRecovered: (): void => {
        isDown = false;
        if (--this.down === 0) this.stderr.write(`millrace: connected to ${this.address} again\n`);
      },
    };
  }
}
