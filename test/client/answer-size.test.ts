// How much a follower asks for where nobody has said it: more of it for a reader who is through with a batch in no time.

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AnswerSize } from "../../src/client/answer-size.js";
import { connect } from "../../src/client/connect.js";
import { Connection } from "../../src/client/connection.js";
import { Consumer, type ConsumerOptions } from "../../src/client/consumer.js";
import { Follower } from "../../src/client/follower.js";
import type { ReadBounds } from "../../src/client/read-bounds.js";
import { ReadPosition } from "../../src/client/read-position.js";
import { offset, partitionId } from "../../src/model/ids.js";
import { CHECKPOINT_EVERY_MS } from "../../src/model/limits.js";
import { FakeBroker } from "../support/fake-broker.js";
import { storedRecords } from "../support/stored-records.js";

const MIB = 1024 * 1024;
const FRAME_BYTES = 8 * MIB;

/** With so many records to read. */
function position(lag: number, bounds: ReadBounds = {}): ReadPosition {
  const end = offset(lag);
  const places = { logStartOffset: offset(0), logEndOffset: end, epochStart: offset(0), durableOffset: end };
  const metadata = { partition: partitionId(0), epoch: 1, highWatermark: end, ...places };
  const made = new ReadPosition("orders", "crc32c", metadata, offset(0), 1, bounds);
  made.mayGrowTo(FRAME_BYTES);
  return made;
}

function asked(size: AnswerSize, ...positions: readonly ReadPosition[]): number[] {
  size.share(positions);
  return positions.map(({ wantedBytes }) => wantedBytes);
}

/** Of a reader who was through with the last batch at once. */
function quick(answerBytes = 4 * MIB): AnswerSize {
  const size = new AnswerSize(answerBytes);
  size.handled(MIB, 1);
  return size;
}

describe("an answer", () => {
  it("is of a mebibyte at first, and all that may come for a quick reader of one partition", () => {
    expect(asked(new AnswerSize(4 * MIB), position(1))).toEqual([MIB]);
    expect(asked(quick(), position(1))).toEqual([4 * MIB]);
  });

  it("is as large only while that would be handled before a checkpoint is saved", () => {
    const size = quick();
    const one = position(1);
    size.handled(MIB, CHECKPOINT_EVERY_MS / 4);
    expect(asked(size, one)).toEqual([MIB]);
    size.handled(MIB, CHECKPOINT_EVERY_MS / 4 - 1);
    expect(asked(size, one)).toEqual([4 * MIB]);
    size.handled(4 * MIB, CHECKPOINT_EVERY_MS);
    expect(asked(size, one)).toEqual([MIB]);
  });

  it("is shared by those that have more to read", () => {
    expect(asked(quick(), position(5), position(0), position(7))).toEqual([2 * MIB, MIB, 2 * MIB]);
    expect(asked(quick(), ...Array.from({ length: 5 }, () => position(1)))).toEqual(Array(5).fill(MIB));
    expect(asked(quick(), position(0))).toEqual([MIB]);
  });

  it("is never more than was said", () => {
    expect(asked(quick(), position(1, { maxBytes: 2000 }))).toEqual([2000]);
    expect(asked(quick(), position(1, { maxBytes: MIB }))).toEqual([MIB]);
    expect(asked(quick(), position(1, { maxBytesLimit: 1.5 * MIB }))).toEqual([1.5 * MIB]);
    expect(asked(quick(16 * MIB), position(1))).toEqual([FRAME_BYTES]);
    expect(asked(quick(MIB), position(1))).toEqual([MIB]);
  });

  it("is what a record takes that is larger, and of the size of before behind it", () => {
    const one = position(1000);
    const size = quick();
    const large = storedRecords("crc32c", [new Uint8Array(5 * MIB), new Uint8Array(8)]);
    expect(asked(size, one)).toEqual([4 * MIB]);
    const cut = { highWatermark: offset(1000), epoch: 1, payload: large.subarray(0, 4 * MIB) };
    expect(one.take(offset(0), 4 * MIB, cut)).toBeUndefined();
    expect(asked(size, one)).toEqual([5 * MIB + 8]);
    expect(one.take(offset(0), 5 * MIB + 8, { ...cut, payload: large.subarray(0, 5 * MIB + 8) })?.length).toBe(1);
    expect(one.wantedBytes).toBe(4 * MIB);
  });
});

/** Three answers, and something left behind the second. */
const RECORDS = 9;

async function filledBroker(): Promise<FakeBroker> {
  const broker = await FakeBroker.start();
  const record = new Uint8Array(MIB / 4);
  for (let i = 0; i < RECORDS; i++) broker.log("orders", 0).push(record);
  return broker;
}

const sizesAskedOf = (broker: FakeBroker) => broker.fetches.slice(0, 3).map(({ parts }) => parts[0]?.maxBytes);

describe("a follower", () => {
  /** How much each of its first requests asks for, when it takes so long over a batch. */
  async function sizesOf(handlingMs: number, release: boolean): Promise<(number | undefined)[]> {
    const broker = await filledBroker();
    let now = 0;
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const connect = () => Connection.connect({ broker: broker.address });
    const positions = [position(RECORDS)];
    const follower = new Follower({ connect, positions, signal: stop.signal, monotonicNow: () => now });
    let given = 0;
    for await (const [batch] of follower) {
      now += handlingMs;
      if (release) batch?.release();
      if (++given === 3) break;
    }
    return sizesAskedOf(broker);
  }

  it.each([false, true])("asks for more once it knows that its reader is quick (who releases: %s)", async (release) => {
    // The second was asked for before the first was given.
    expect(await sizesOf(1, release)).toEqual([MIB, MIB, 4 * MIB]);
  });

  it("goes on as it began with one who is not", async () => {
    expect(await sizesOf(50, false)).toEqual([MIB, MIB, MIB]);
  });
});

describe("a consumer", () => {
  /** How much each of three polls asks for, so long after the other. */
  async function sizesOf(
    handlingMs: number,
    opened: (broker: string, options: ConsumerOptions) => Promise<Consumer>,
    maxBytes?: number,
  ): Promise<(number | undefined)[]> {
    const broker = await filledBroker();
    const consumer = await opened(broker.address, { topic: "orders", partition: 0, maxBytes });
    let now = performance.now();
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    for (let i = 0; i < 3; i++) {
      const batch = await consumer.poll();
      batch.release();
      now += handlingMs;
    }
    return sizesAskedOf(broker);
  }

  async function ofClient(broker: string, options: ConsumerOptions): Promise<Consumer> {
    const client = await connect({ broker });
    onTestFinished(() => client.close());
    return client.consumer(options);
  }

  async function onConnection(broker: string, options: ConsumerOptions): Promise<Consumer> {
    const connection = await Connection.connect({ broker });
    onTestFinished(() => connection.destroy());
    return Consumer.open(connection, options);
  }

  it("asks for more when its polls follow each other quickly, and for no more than it was told", async () => {
    // The second brings all there is, and the third asks at the end.
    expect(await sizesOf(1, ofClient)).toEqual([MIB, 4 * MIB, MIB]);
    expect(await sizesOf(50, ofClient)).toEqual([MIB, MIB, MIB]);
    expect(await sizesOf(1, ofClient, MIB)).toEqual([MIB, MIB, MIB]);
  });

  it("never does on a connection that others may use", async () => {
    expect(await sizesOf(1, onConnection)).toEqual([MIB, MIB, MIB]);
  });
});
