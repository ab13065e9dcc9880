// All partitions beside each other, without an end, over restarts of the broker and cuts of the network.

import type { CheckpointStore } from "../../client/checkpoint/store.js";
import { Client } from "../../client/client.js";
import type { Backend } from "../../client/link.js";
import type { FollowOptions } from "../../client/subscription/options.js";
import { FETCH_PARTITIONS_MAX } from "../../model/limits.js";
import type { Messages } from "../io.js";
import type { Printer } from "./printer.js";

export interface Following {
  readonly backend: Backend;
  readonly topic: string;
  /** The partitions that there are now. */
  readonly partitions: readonly number[];
  /** Only these are wanted; else also those that are added. */
  readonly isNamed: boolean;
  readonly options: FollowOptions;
  /** Where to begin what was read before. */
  readonly store: CheckpointStore | undefined;
}

/** Ends when the printer has all it may print. Throws what no other connection puts right. */
export async function printFollowing(following: Following, printer: Printer, stderr: Messages): Promise<void> {
  const { backend, topic, options, store } = following;
  // The first connection is there. If it is lost before anything could be asked, nobody is kept waiting.
  const client = new Client(backend, { retryMs: 0 });
  const outages = new Outages(backend.address, stderr);
  const follow = async (partitions: readonly number[] | undefined): Promise<void> => {
    const all = client.follow(topic, { ...options, partitions, ...outages.heard() });
    for await (const batch of store === undefined ? all : all.checkpointing(store, { saveEveryMs: 0 })) {
      await printer.print(batch, Number.POSITIVE_INFINITY);
      if (printer.isDone) return;
      // What is there is seen now, not when a piece is full.
      if (batch.lag === 0) await printer.flush();
    }
  };
  try {
    // One that ends takes the others along, whether it has failed or is done.
    await Promise.race(groupsOf(following).map(follow));
  } finally {
    await client.close();
  }
}

/** What one subscription can read. Of more partitions than that each is named, and those that are added are not taken up. */
function groupsOf({ partitions, isNamed }: Following): readonly (readonly number[] | undefined)[] {
  if (!isNamed && partitions.length <= FETCH_PARTITIONS_MAX) return [undefined];
  return Array.from({ length: Math.ceil(partitions.length / FETCH_PARTITIONS_MAX) }, (_, group) =>
    partitions.slice(group * FETCH_PARTITIONS_MAX, (group + 1) * FETCH_PARTITIONS_MAX),
  );
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
