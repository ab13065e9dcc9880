// The checker of histories, on histories made up for it: a sound one, and for each rule one that breaks it.

import { describe, expect, it } from "vitest";
import { checkHistory, type FinalLog } from "../../faults/lib/history/check.js";
import { History, type HistoryOptions } from "../../faults/lib/history/history.js";
import { identify, makePayload, producerOf, sequenceOf } from "../../faults/lib/history/payload.js";
import { type Ack, type ProducerLog, payloadsOf, type SentBatch } from "../../faults/lib/history/producer-log.js";
import type { Rule } from "../../faults/lib/history/violations.js";
import { MillraceError } from "../../src/model/errors.js";
import { printedSeed, randomFrom } from "../support/seed.js";

/** A history with a log beside it: what a broker without faults would have. */
class Play {
  readonly history: History;
  readonly log: Uint8Array[] = [];
  readonly producer: ProducerLog;

  constructor(options: Partial<HistoryOptions> = {}) {
    this.history = new History({ partitions: 1, visibility: "written", retention: false, ...options });
    this.producer = this.history.producer(0);
  }

  send(records = 1, ack: Ack = "forced", producer = this.producer): SentBatch {
    return this.history.send(
      producer,
      Array.from({ length: records }, (_, at) => 20 + at),
      ack,
    );
  }

  /** Written, and answered. */
  produce(records = 1, ack: Ack = "forced", producer = this.producer): SentBatch {
    const batch = this.send(records, ack, producer);
    const base = this.log.length;
    this.log.push(...payloadsOf(batch));
    this.history.acknowledged(producer, batch, base, this.log.length);
    return batch;
  }

  /** A consumer that reads what there is. */
  read(from: number, to = this.log.length, highWatermark = this.log.length): void {
    const { history } = this;
    history.shown(history.asked(0, from), { payloads: this.log.slice(from, to), highWatermark });
  }

  rules(final: Partial<FinalLog> = {}): Rule[] {
    const log = { partition: 0, logStartOffset: 0, payloads: this.log, ...final };
    return [...new Set(checkHistory(this.history, [log]).violations.map(({ rule }) => rule))];
  }
}

describe("a history without faults", () => {
  it("is sound: answered, read in parts and again, refused, unanswered and there or not", () => {
    const play = new Play();
    play.produce(3);
    play.read(0, 2);
    play.read(2);
    play.read(0);
    play.history.refused(play.send(2));
    const there = play.send(2);
    play.log.push(...payloadsOf(there));
    play.history.unknown(there);
    play.history.unknown(play.send(2));
    play.produce(1, "written");
    play.send(1, "none");
    play.read(3, 6);
    expect(play.rules()).toEqual([]);
    expect(checkHistory(play.history, []).counts).toMatchObject({ "records acknowledged": 4, "records shown": 9 });
  });

  it("may lose to a cut what was not forced, and give its offsets to others; a reader may be told so", () => {
    const play = new Play();
    play.produce(2, "written");
    play.produce(1, "forced");
    play.produce(4, "written");
    play.read(0);
    play.history.powerLost();
    // One answer was under way.
    const late = play.send(1, "written");
    play.history.acknowledged(play.producer, late, 7, 8);
    play.log.length = 4;
    play.history.restarted();
    play.history.truncated(play.history.asked(0, 7), 4);
    play.read(0);
    play.produce(2, "written");
    play.read(3);
    expect(play.rules()).toEqual([]);
  });

  it("may keep the beginning of a batch that nobody acknowledged when it was cut off", () => {
    const play = new Play();
    const batch = play.send(3);
    play.log.push(...payloadsOf(batch).slice(0, 2));
    play.history.killed();
    play.history.unknown(batch);
    play.produce(1);
    expect(play.rules()).toEqual([]);
  });

  it("may lose its beginning to retention, in the middle of a batch, too", () => {
    const play = new Play({ retention: true });
    play.produce(5);
    play.read(0);
    expect(play.rules({ logStartOffset: 3, payloads: play.log.slice(3) })).toEqual([]);
  });
});

describe("a history breaks the rule", () => {
  it("acknowledged-lost: at the end of the log, in its middle, after a kill, and forced after a cut", () => {
    const cases: ((play: Play) => void)[] = [
      (play) => play.log.pop(),
      (play) => (play.log[1] = makePayload(0, 9, 20)),
      (play) => {
        play.history.killed();
        play.log.pop();
      },
      (play) => {
        play.history.powerLost();
        play.history.restarted();
        play.log.pop();
      },
    ];
    for (const spoil of cases) {
      const play = new Play();
      for (let i = 0; i < 3; i++) play.produce(1);
      spoil(play);
      expect(play.rules()).toContain("acknowledged-lost");
      expect(
        checkHistory(play.history, [{ partition: 0, logStartOffset: 0, payloads: play.log }]).losses,
      ).toBeGreaterThan(0);
    }
  });

  it("acknowledged-lost: written, forced by a later barrier, and gone after a cut", () => {
    const play = new Play();
    play.produce(2, "written");
    play.produce(1, "forced");
    play.history.powerLost();
    play.history.restarted();
    play.log.length = 0;
    expect(play.rules()).toContain("acknowledged-lost");
  });

  it("visible-lost: a consumer saw it, nobody was told, and it is gone after a kill", () => {
    const play = new Play();
    const batch = play.send(1);
    play.log.push(...payloadsOf(batch));
    play.read(0);
    play.history.killed();
    play.history.unknown(batch);
    play.log.pop();
    expect(play.rules()).toEqual(["visible-lost"]);
  });

  it("visible-lost: under durable visibility after a cut, too; under written visibility it may be", () => {
    const lose = (visibility: "written" | "durable"): Rule[] => {
      const play = new Play({ visibility });
      const batch = play.send(1, "written");
      play.log.push(...payloadsOf(batch));
      play.history.unknown(batch);
      play.read(0);
      play.history.powerLost();
      play.history.restarted();
      play.log.pop();
      return play.rules();
    };
    expect(lose("durable")).toEqual(["visible-lost"]);
    expect(lose("written")).toEqual([]);
  });

  it("offset-reused: told twice, seen otherwise than told, seen twice", () => {
    const told = new Play();
    told.produce(1);
    told.history.acknowledged(told.producer, told.send(1), 0);
    expect(told.rules()).toContain("offset-reused");
    const seen = new Play();
    const other = seen.send(1);
    seen.history.unknown(other);
    seen.produce(1);
    seen.log[0] = payloadsOf(other)[0];
    seen.read(0);
    expect(seen.rules()).toContain("offset-reused");
  });

  it("invented: a byte that is wrong, a record of another partition, of nobody, of another size", () => {
    const made: ((play: Play) => Uint8Array)[] = [
      ({ log }) => Uint8Array.from(log[0], (byte, at) => (at === 19 ? byte ^ 1 : byte)),
      ({ history }) => payloadsOf(history.send(history.producer(1), [20], "none"))[0],
      () => makePayload(7, 0, 20),
      () => makePayload(0, 0, 21),
      () => new Uint8Array(30),
    ];
    for (const make of made) {
      const play = new Play({ partitions: 2 });
      play.produce(1);
      play.log.push(make(play));
      expect(play.rules()).toEqual(["invented"]);
    }
  });

  it("refused-but-there", () => {
    const play = new Play();
    const batch = play.send(1);
    play.history.refused(batch);
    play.log.push(...payloadsOf(batch));
    expect(play.rules()).toEqual(["refused-but-there"]);
  });

  it("twice, order", () => {
    const twice = new Play();
    twice.produce(1);
    twice.log.push(twice.log[0]);
    expect(twice.rules()).toContain("twice");
    const order = new Play();
    const [first, second] = [order.send(1), order.send(1)];
    for (const batch of [first, second]) order.history.unknown(batch);
    order.log.push(...payloadsOf(second), ...payloadsOf(first));
    expect(order.rules()).toEqual(["order"]);
  });

  it("torn-batch: without a cut, without its beginning, with another record inside", () => {
    const part = (from: number, to: number, killed: boolean, inside = false): Rule[] => {
      const play = new Play();
      const batch = play.send(3);
      play.history.unknown(batch);
      if (killed) play.history.killed();
      const all = payloadsOf(batch);
      const other = play.send(1, "forced", play.history.producer(0));
      play.history.unknown(other);
      play.log.push(...(inside ? [all[0], ...payloadsOf(other), all[1], all[2]] : all.slice(from, to)));
      return play.rules();
    };
    expect(part(0, 2, false)).toEqual(["torn-batch"]);
    expect(part(1, 3, true)).toEqual(["torn-batch"]);
    expect(part(0, 3, true, true)).toEqual(["torn-batch"]);
    expect(part(0, 2, true)).toEqual([]);
  });

  it("watermark: below what was told, below what was seen", () => {
    const told = new Play();
    told.produce(2);
    told.read(0, 1, 1);
    expect(told.rules()).toEqual(["watermark"]);
    const seen = new Play();
    const batch = seen.send(2);
    seen.log.push(...payloadsOf(batch));
    seen.history.unknown(batch);
    seen.read(0, 1, 2);
    seen.read(0, 1, 1);
    expect(seen.rules()).toEqual(["watermark"]);
    const durable = new Play({ visibility: "durable" });
    durable.produce(2, "written");
    durable.read(0, 0, 0);
    expect(durable.rules()).toEqual([]);
  });

  it("log-start: back, and up without retention", () => {
    const back = new Play({ retention: true });
    back.produce(2);
    back.history.shown(back.history.asked(0, 1), { payloads: [back.log[1]], highWatermark: 2, logStartOffset: 1 });
    back.history.shown(back.history.asked(0, 0), { payloads: back.log, highWatermark: 2, logStartOffset: 0 });
    expect(back.rules()).toEqual(["log-start"]);
    const up = new Play();
    up.produce(2);
    expect(up.rules({ logStartOffset: 1, payloads: up.log.slice(1) })).toContain("log-start");
  });

  it("answer: records above the watermark, an end below the batch, an answer to what had one", () => {
    const above = new Play();
    above.produce(2);
    above.read(0, 2, 1);
    expect(above.rules()).toContain("answer");
    const end = new Play();
    const batch = end.send(2);
    end.log.push(...payloadsOf(batch));
    end.history.acknowledged(end.producer, batch, 0, 1);
    expect(end.rules()).toEqual(["answer"]);
    end.history.acknowledged(end.producer, batch, 0, 2);
    expect(end.history.violations.of("answer")).toBe(2);
  });

  it("epoch: back, and a reader of what was forced told that it is gone", () => {
    const back = new Play();
    back.produce(1);
    for (const epoch of [2, 1]) {
      back.history.shown(back.history.asked(0, 0), { payloads: back.log, highWatermark: 1, epoch });
    }
    expect(back.rules()).toEqual(["epoch"]);
    const told = new Play();
    told.produce(2);
    told.history.truncated(told.history.asked(0, 2), 1);
    expect(told.rules()).toEqual(["epoch"]);
  });
});

it("random faults in random logs are all found, and none where there is none", () => {
  const seed = printedSeed("histories");
  const random = randomFrom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  for (let round = 0; round < 300; round++) {
    const play = new Play();
    for (let i = 0; i < 10; i++) play.produce(1 + below(4), random() < 0.5 ? "forced" : "written");
    play.read(below(play.log.length));
    expect(play.rules(), `round ${round}`).toEqual([]);
    const spoilt = [...play.log];
    const at = below(spoilt.length);
    const faults: (() => void)[] = [
      () => spoilt.splice(at, 1),
      () => spoilt.splice(at, 0, spoilt[below(spoilt.length)]),
      () => {
        spoilt[at] = spoilt[at].slice();
        spoilt[at][below(spoilt[at].length)] ^= 1 << below(8);
      },
      () => spoilt.splice(at, spoilt.length),
    ];
    faults[below(faults.length)]();
    expect(play.rules({ payloads: spoilt }), `round ${round}, fault at ${at}`).not.toEqual([]);
  }
});

it("a record says who it is, and not when a single bit of it is another", () => {
  for (const size of [16, 17, 40, 300]) {
    const made = makePayload(3, 70_000, size);
    const id = identify(made)!;
    expect([producerOf(id), sequenceOf(id)]).toEqual([3, 70_000]);
    for (let bit = 0; bit < size * 8; bit++) {
      const flipped = made.slice();
      flipped[bit >> 3] ^= 1 << (bit & 7);
      const found = identify(flipped);
      // Of the smallest one nothing follows from who it is: there a flipped bit makes another record, which nobody has sent.
      if (size > PAYLOAD_WITH_FILLER) expect(found).toBeUndefined();
      else expect(found).not.toBe(id);
    }
  }
});

const PAYLOAD_WITH_FILLER = 20;

it("takes a refusal that nothing provoked for a violation", () => {
  const refused = (code: string, mayFail?: string[]): Rule[] => {
    const play = new Play({ mayFail });
    play.history.failed(play.send(1), Object.assign(new Error(code), { code }));
    return play.rules();
  };
  expect(refused("CONNECTION_LOST")).toEqual([]);
  expect(refused("STORAGE_FAILURE")).toEqual(["answer"]);
  expect(refused("LOG_FULL", ["LOG_FULL"])).toEqual([]);
});

it("takes an answer that cannot be for a violation, though it ends its connection as a cut does", () => {
  const failedBy = (cause: string): Rule[] => {
    const play = new Play();
    const error = new MillraceError("CONNECTION_LOST", "lost", {
      cause: Object.assign(new Error(cause), { code: cause }),
    });
    play.history.failed(play.send(1), error);
    return play.rules();
  };
  expect(failedBy("ECONNRESET")).toEqual([]);
  expect(failedBy("BAD_RESPONSE")).toEqual(["answer"]);
});
