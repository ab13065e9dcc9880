// Fetches that wait in a broker without a server: the end of each turn is a call of the test, and so is time.

import { describe, expect, it, onTestFinished } from "vitest";
import { Broker } from "../../src/broker/broker.js";
import { openDataDir } from "../../src/broker/data-dir.js";
import { planFetch } from "../../src/broker/fetch.js";
import { Isolation } from "../../src/log/waiting/isolation.js";
import { WaitingFetch, WaitPart } from "../../src/log/waiting/waiting-fetch.js";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { LOOKS_PER_TURN } from "../../src/model/limits.js";
import { native } from "../../src/native/binding.js";
import { planDescriptors } from "../../src/ops/descriptors.js";
import { silentLog } from "../../src/ops/log.js";
import { brokerOptions } from "../../src/ops/settings/options.js";
import { resolve } from "../../src/ops/settings/resolve.js";
import { fromDocument } from "../../src/ops/settings/sources.js";
import { ReadPlan } from "../../src/storage/read-plan.js";
import { testSettings } from "../support/broker.js";
import { ManualTime } from "../support/manual-time.js";
import { tempDir } from "../support/tmp.js";
import { region } from "../support/wire.js";

const RETENTION_MS = 1_000;

class Play {
  readonly completed: WaitingFetch[] = [];
  work = 0;

  private constructor(
    readonly broker: Broker,
    readonly time: ManualTime,
  ) {}

  static async open(settings: Record<string, unknown>): Promise<Play> {
    const dir = tempDir("waits");
    const resolution = resolve([fromDocument({ ...testSettings(dir), ...settings }, "test")]);
    if (resolution.problems !== undefined) throw new Error(resolution.problems.join("\n"));
    const options = brokerOptions(resolution.resolved, planDescriptors(native.openFilesLimit(), 1, 10, true));
    const time = new ManualTime();
    const broker = await Broker.open(options, await openDataDir(dir, silentLog), {
      clock: { now: () => 1_000_000 + time.monotonicNow() },
      monotonicNow: () => time.monotonicNow(),
      timers: time,
      log: silentLog,
    });
    onTestFinished(async () => void (await broker.close()));
    const play = new Play(broker, time);
    broker.waits.onCompleted = (fetch) => play.completed.push(fetch);
    broker.waits.onWork = () => play.work++;
    return play;
  }

  get log() {
    const { log } = this.broker.catalog.partitions[0];
    if (log === undefined) throw new Error("the partition did not open");
    return log;
  }

  /** One batch; resolves when it is written. */
  append(...sizes: number[]): Promise<number> {
    const { writer } = this.broker.catalog.partitions[0];
    const bytes = region(sizes.map((size) => new Uint8Array(size).fill(1)));
    return new Promise((done, failed) => {
      const appended = (_: number, error: number, base: number): void =>
        error === ErrorCodes.NONE ? done(base) : failed(new Error(`error ${error}`));
      writer?.offer(bytes, 0, bytes.length, sizes.length, AckPolicy.WRITTEN, -1, { appended }, 0);
      this.broker.scheduler.run();
    });
  }

  wait(offset: number, minBytes: number, waitMs = 60_000): WaitingFetch {
    const { purgatory, partitions } = this.broker.waits;
    const fetch = new WaitingFetch(0, minBytes, 0, 1 << 20, this.time.monotonicNow() + waitMs);
    const part = new WaitPart(fetch, 0, Isolation.HIGH_WATERMARK, -1, offset, 1 << 20);
    fetch.parts = [part];
    expect(partitions.locate(part)).toBe(true);
    expect(purgatory.park(fetch)).toBe(true);
    return fetch;
  }

  plan(offset: number): number {
    const partition = this.broker.catalog.partitions[0];
    return planFetch(partition, offset, 1 << 20, Isolation.HIGH_WATERMARK, new ReadPlan());
  }
}

const SMALL = { "segment.bytes": "4KiB", "max.frame.bytes": "2KiB", "index.interval.bytes": 512 };

describe("the waits of a broker", () => {
  it("F15 a roll and retention in one turn while a fetch waits: its offset is out of range, and it hangs no longer", async () => {
    const play = await Play.open({ ...SMALL, "retention.bytes": 1, "retention.check.ms": RETENTION_MS });
    await play.append(1300);
    const fetch = play.wait(0, 1 << 19);
    const atEnd = play.wait(1, 1 << 19);
    await play.append(1300, 1300);
    play.broker.waits.wake();
    expect(play.completed).toEqual([]);
    // From here on no turn ends until both have happened.
    await play.append(1300);
    await expect.poll(() => play.log.activeBaseOffset).toBe(3);
    play.time.advance(RETENTION_MS);
    await expect.poll(() => play.log.logStartOffset).toBe(3);
    expect(play.completed).toEqual([]);
    expect(play.work).toBeGreaterThan(0);
    play.broker.waits.wake();
    expect(new Set(play.completed)).toEqual(new Set([fetch, atEnd]));
    expect(play.completed).toHaveLength(2);
    for (const offset of [0, 1]) expect(play.plan(offset)).toBe(ErrorCodes.OFFSET_OUT_OF_RANGE);
    expect(fetch).toMatchObject({ parked: true, timedOut: false });
  });

  it("are looked at once for all that a turn has written", async () => {
    const play = await Play.open({});
    const fetch = play.wait(0, 250);
    for (let i = 0; i < 10; i++) await play.append(92);
    expect(play.completed).toEqual([]);
    // Ten publishes, one request for a turn.
    expect(play.work).toBe(1);
    expect(play.broker.waits.wake()).toBe(false);
    expect(play.completed).toEqual([fetch]);
  });

  it("are looked at in several turns when one publish concerns thousands", async () => {
    const play = await Play.open({});
    const count = LOOKS_PER_TURN * 2 + 10;
    for (let i = 0; i < count; i++) play.wait(0, 1);
    await play.append(92);
    const turns: number[] = [];
    for (let more = true; more; ) {
      more = play.broker.waits.wake();
      turns.push(play.completed.length);
    }
    expect(turns).toEqual([LOOKS_PER_TURN, LOOKS_PER_TURN * 2, count]);
    expect(new Set(play.completed).size).toBe(count);
  });

  it("nobody who comes between two such turns is missed, and nobody who leaves is answered", async () => {
    const play = await Play.open({});
    const fetches = Array.from({ length: LOOKS_PER_TURN + 100 }, () => play.wait(0, 1));
    await play.append(92);
    expect(play.broker.waits.wake()).toBe(true);
    const left = fetches.filter((fetch) => !play.completed.includes(fetch));
    for (const fetch of left.slice(0, 50)) play.broker.waits.purgatory.cancel(fetch);
    const late = play.wait(1, 1);
    await play.append(92);
    expect(play.broker.waits.wake()).toBe(false);
    expect(play.completed).toHaveLength(fetches.length - 50 + 1);
    expect(play.completed).toContain(late);
    expect(play.broker.waits.purgatory.waiting).toBe(0);
  });

  it("cost a publish nothing while nobody waits", async () => {
    const play = await Play.open({});
    await play.append(92);
    expect(play.work).toBe(0);
    expect(play.broker.waits.wake()).toBe(false);
  });

  it("F04 F07 end at the deadline, which a publish of too little does not move", async () => {
    const play = await Play.open({});
    const fetch = play.wait(0, 1_000, 500);
    for (let i = 0; i < 4; i++) {
      play.time.advance(100);
      await play.append(92);
      play.broker.waits.wake();
    }
    play.time.advance(99);
    expect(play.completed).toEqual([]);
    play.time.advance(1);
    expect(play.completed).toEqual([fetch]);
    expect(fetch).toMatchObject({ parked: true, timedOut: true });
  });
});
