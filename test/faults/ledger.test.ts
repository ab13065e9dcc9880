// What the ledger makes of a start: an oracle that never says no would make every rung green.

import { describe, expect, it } from "vitest";
import { Ledger, type LedgerTopic, type Told } from "../../faults/lib/witness/ledger.js";

const topic: LedgerTopic = {
  topic: "orders",
  partition: 0,
  format: "crc32c",
  durable: false,
  recordBytes: 100,
  largeTimes: 4,
};

/** 100 sent, 80 of them acknowledged as written, 60 as forced; a consumer saw 70. */
function ledger(other: Partial<LedgerTopic> = {}): Ledger {
  const made = new Ledger({ ...topic, ...other }, 7);
  made.sent = made.sentMost = 100;
  made.written = 80;
  made.forced = 60;
  made.shown = 70;
  return made;
}

const told = (logEnd: number, other: Partial<Told> = {}): Told => ({
  epoch: 1,
  logStart: 0,
  highWatermark: logEnd,
  durable: logEnd,
  logEnd,
  ...other,
});

describe("the ledger of a partition", () => {
  it("is content with everything that was promised, and with more of what was sent", () => {
    for (const end of [60, 75, 100]) expect(ledger().recovered(told(end), "power")).toEqual({ wrong: [], lost: 0 });
    expect(ledger().recovered(told(80), "process").wrong).toEqual([]);
  });

  it("counts what was acknowledged and is gone, by what has died", () => {
    expect(ledger().recovered(told(59), "power")).toMatchObject({ lost: 1 });
    expect(ledger().recovered(told(60), "process")).toMatchObject({ lost: 20 });
    expect(ledger().recovered(told(-1, { epoch: -1 }), "power")).toMatchObject({ lost: 60 });
  });

  it.each<[string, Told, Partial<LedgerTopic>, RegExp]>([
    ["that nobody sent", told(101), {}, /nobody sent/],
    ["hidden below the high watermark", told(100, { highWatermark: 59 }), {}, /high watermark/],
    ["seen and gone without a new epoch", told(69, { epoch: 0 }), {}, /the epoch says nothing/],
    ["seen by consumers of the durable alone", told(69), { durable: true }, /saw what is gone/],
    ["removed by nobody's wish", told(100, { logStart: 1 }), {}, /retention/],
    ["removed by a retention that goes too far", told(100, { logStart: 90 }), { keptBytes: 5000 }, /retention/],
  ])("finds records %s", (_, state, other, message) => {
    expect(ledger(other).recovered(state, "power").wrong.join()).toMatch(message);
  });

  it("tells the bytes of a record from those that a cut has taken away", () => {
    const one = ledger();
    const [kept, gone] = [one.payload(75), one.payload(90)];
    one.recovered(told(80), "power");
    one.sent = one.sentMost = 100;
    expect(one.differs(75, kept)).toBeUndefined();
    expect(one.differs(90, gone)).toMatch(/record 90 of round 1 is another.*of round 0/);
    expect(one.differs(90, one.payload(90))).toBeUndefined();
  });

  it("lets plain records that nobody forced have other bytes, and no others", () => {
    const one = ledger({ format: "plain" });
    one.recovered(told(80), "power");
    expect(one.differs(70, new Uint8Array(3))).toBeUndefined();
    expect(one.differs(59, new Uint8Array(3))).toMatch(/another/);
  });

  it("takes what the broker names as durable for a promise", () => {
    const one = ledger();
    one.heard(told(80, { durable: 78 }));
    expect(one.recovered(told(77), "power")).toMatchObject({ lost: 1 });
  });
});
