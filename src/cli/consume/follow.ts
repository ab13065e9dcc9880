// All partitions beside each other, without an end, over restarts of the broker and cuts of the network.

import type { CheckpointStore } from "../../client/checkpoint/store.js";
import { Client } from "../../client/client.js";
import type { Backend } from "../../client/link.js";
import type { FollowOptions } from "../../client/subscription/options.js";
import { MillraceError } from "../../model/errors.js";
import { FETCH_PARTITIONS_MAX } from "../../model/limits.js";
import { Failed } from "../failure.js";
import type { Messages } from "../io.js";
import { AddedPartitions } from "./added-partitions.js";
import { Outages } from "./outages.js";
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
  const { backend, topic, partitions, isNamed, options, store } = following;
  // The first connection is there. If it is lost before anything could be asked, nobody is kept waiting.
  const client = new Client(backend, { retryMs: 0 });
  // A subscription of all takes up by itself what is added.
  const isOne = !isNamed && partitions.length <= FETCH_PARTITIONS_MAX;
  const added = isNamed || isOne ? undefined : new AddedPartitions(backend, topic, partitions, store);
  let begin = (_: FollowOptions): void => undefined;
  let fail = (_: unknown): void => undefined;
  const beginGroups = (numbers: readonly number[], chosen: FollowOptions = {}): void => {
    for (const group of groupsOf(numbers)) begin({ ...chosen, partitions: group });
  };
  const outages = new Outages(backend.address, stderr, () => {
    // All in them came later.
    added
      ?.look()
      .then((numbers) => beginGroups(numbers, { from: "earliest" }))
      .catch(fail);
  });
  const follow = async (chosen: FollowOptions): Promise<void> => {
    const all = client.follow(topic, { ...options, ...chosen, ...outages.heard() });
    for await (const batch of store === undefined ? all : all.checkpointing(store, { saveEveryMs: 0 })) {
      await printer.print(batch, Number.POSITIVE_INFINITY);
      if (printer.isDone) return;
      // What is there is seen now, not when a piece is full.
      if (batch.lag === 0) await printer.flush();
    }
  };
  // One that ends takes the others along, whether it has failed or is done.
  const ended = new Promise<void>((resolve, reject) => {
    begin = (chosen) => void follow(chosen).then(resolve, reject);
    fail = reject;
  });
  try {
    if (isOne) begin({});
    else beginGroups(partitions);
    await ended;
  } catch (error) {
    throw isOne && outages.happened ? grown(error, topic) : error;
  } finally {
    added?.close();
    await client.close();
  }
}

/** More partitions were added than its one subscription reads beside those that it has. */
function grown(error: unknown, topic: string): unknown {
  if (!(error instanceof MillraceError) || error.code !== "BAD_ARGUMENT") return error;
  return new Failed(`topic ${topic} has more than ${FETCH_PARTITIONS_MAX} partitions now: ${error.message}`, [
    "started anew, consume makes as many as it takes; with --checkpoint it goes on where it is",
  ]);
}

/** What one subscription can read. */
function groupsOf(partitions: readonly number[]): readonly (readonly number[])[] {
  return Array.from({ length: Math.ceil(partitions.length / FETCH_PARTITIONS_MAX) }, (_, group) =>
    partitions.slice(group * FETCH_PARTITIONS_MAX, (group + 1) * FETCH_PARTITIONS_MAX),
  );
}
