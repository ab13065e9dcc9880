// Readers that wait at the end of the log fill what they may of `queued.bytes.max`. Whoever comes beside them is served as if they were
// not there.

import { describe, expect, it } from "vitest";
import { KeptFetches } from "../../src/server/kept-fetches.js";
import { ReplySlots, SLOT_BYTES, SlotState } from "../../src/server/reply-slots.js";
import { Session } from "../../src/server/session.js";
import { connectTo, runBroker } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { until } from "../support/waiting.js";
import { multiFetch, produce } from "../support/wire.js";

const KiB = 1024;

describe("fetches that wait for records", () => {
  it("do not keep others from beginning a request: the part of it that has come is taken", async () => {
    const broker = await runBroker({
      topics: "orders:20",
      "queued.bytes.max": "1MiB",
      "connection.queued.bytes.max": "64KiB",
      "max.frame.bytes": "64KiB",
      "segment.bytes": "1MiB",
    });
    const positions = Array.from({ length: 20 }, (_, partition) => ({ partition, offset: 0 }));
    const readers = 90;
    for (let i = 0; i < readers; i++) (await connectTo(broker)).send(multiFetch(positions, { maxWaitMs: 60_000 }));
    await until("all wait", () => broker.statistics().fetchesWaiting === readers);
    const before = broker.statistics().queuedBytes;
    expect(before).toBeGreaterThan(256 * KiB);
    expect(before).toBeLessThan(512 * KiB);

    const writer = await connectTo(broker);
    const request = produce([ascii("x".repeat(40 * KiB))]);
    writer.send(request.subarray(0, 20 * KiB));
    await until("half of the request is taken", () => broker.statistics().queuedBytes >= before + 20 * KiB, 3_000);
    writer.send(request.subarray(20 * KiB));
    expect((await writer.responses(1))[0].error).toBe(0);
    expect(broker.statistics().fetchesWaiting).toBe(0);
  });

  it("are counted while they wait, alone, and however their wait ends", () => {
    const slots = new ReplySlots(new KeptFetches(1 << 20, 1 << 20));
    const session = new Session(1);
    const one = slots.add(session, 1, SlotState.FETCH);
    slots.addMultiFetch(session, 2, new Uint8Array(1000), 10);
    slots.park(one);
    expect(slots.waitingBytes).toBe(SLOT_BYTES);
    slots.woken(one);
    expect(slots.waitingBytes).toBe(0);

    const other = new Session(2);
    const { bytes } = slots.kept;
    const several = slots.addMultiFetch(other, 1, new Uint8Array(1000), 10);
    slots.addMultiFetch(other, 2, new Uint8Array(1000), 10);
    slots.park(several);
    expect(slots.waitingBytes).toBe(SLOT_BYTES + bytes);
    slots.woken(several);
    expect(slots.waitingBytes).toBe(0);
    slots.park(several);
    slots.abandon(other);
    expect(slots.waitingBytes).toBe(0);
    expect(slots.heldBytes).toBe(2 * SLOT_BYTES + bytes);
  });
});
