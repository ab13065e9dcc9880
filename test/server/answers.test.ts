// What one flush answers of sessions that have more to be answered than fits: a broker that is busy, without its sockets.

import { describe, expect, it } from "vitest";
import type { Broker } from "../../src/broker/broker.js";
import { Counters } from "../../src/broker/counters.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { PLANS_PER_FLUSH, PLANS_PER_SESSION } from "../../src/model/limits.js";
import { AnswerOutcome, Answers } from "../../src/server/answers.js";
import { KeptFetches } from "../../src/server/kept-fetches.js";
import { ReplySender } from "../../src/server/reply-sender.js";
import { ReplySlots, SlotState } from "../../src/server/reply-slots.js";
import { NO_SLOT, Session } from "../../src/server/session.js";

const { DONE, LATER, PUT_OFF, SERVED } = AnswerOutcome;

class Play {
  readonly slots = new ReplySlots(new KeptFetches(1, 1));
  private readonly answers: Answers;
  /** Bytes that wait for the peer of a connection. */
  readonly owed = new Map<number, number>();
  crowded = false;
  private connections = 0;

  constructor() {
    // Its partition refused to open: a fetch from it is planned and answered with that.
    const broker = {
      catalog: { partitions: [{ writer: undefined }] },
      options: { fetchMaxBytes: 1 },
      counters: new Counters(),
    };
    const hello = { brokerName: "", brokerVersion: "", maxFrameBytes: 1, maxFetchWaitMillis: 0, versions: [] };
    const nothing = (): void => undefined;
    this.answers = new Answers(this.slots, new ReplySender(), broker as unknown as Broker, {
      hello,
      owed: (connection) => this.owed.get(connection) ?? 0,
      owedMax: 160,
      crowded: () => this.crowded,
      isUnreadable: () => false,
      loaded: nothing,
      listed: nothing,
    });
  }

  session(fetches: number): Session {
    const session = new Session(this.connections++);
    for (let i = 0; i < fetches; i++) {
      const slot = this.slots.add(session, i, SlotState.FETCH);
      this.slots.target[slot] = 0;
      this.slots.maxBytes[slot] = 1;
    }
    return session;
  }

  flush(...sessions: readonly Session[]): AnswerOutcome[] {
    this.answers.begin(0);
    return sessions.map((session) => this.answers.answer(session));
  }

  left(session: Session): number {
    let count = 0;
    for (let slot = session.first; slot !== NO_SLOT; slot = this.slots.next[slot]) count++;
    return count;
  }
}

describe("a flush with more fetches than it answers", () => {
  it("gives each session a share, and says which of them have had theirs", () => {
    const play = new Play();
    const [greedy, modest] = [play.session(1000), play.session(1)];
    expect(play.flush(greedy, modest)).toEqual([SERVED, DONE]);
    expect([play.left(greedy), play.left(modest)]).toEqual([1000 - PLANS_PER_SESSION, 0]);
  });

  it("those who had none come before those who had some, so that nobody waits for ever", () => {
    const play = new Play();
    const busy = Array.from({ length: PLANS_PER_FLUSH / PLANS_PER_SESSION }, () => play.session(1000));
    const modest = play.session(2);
    const other = play.session(1);
    expect(play.flush(...busy, modest, other)).toEqual([...busy.map(() => SERVED), LATER, LATER]);
    expect(play.flush(modest, other, ...busy)).toEqual([DONE, DONE, ...busy.map(() => SERVED)]);
    // The last of them got what was left, and that is some, too.
    expect(play.left(busy[busy.length - 1])).toBe(1000 - 2 * PLANS_PER_SESSION + 3);
  });

  it("what needs no plan is answered whatever others ask for", () => {
    const play = new Play();
    const busy = Array.from({ length: PLANS_PER_FLUSH / PLANS_PER_SESSION + 1 }, () => play.session(1000));
    const producer = new Session(99);
    play.slots.settle(play.slots.add(producer, 1, SlotState.PENDING), ErrorCodes.NONE, 0, 1);
    expect(play.flush(...busy, producer).at(-1)).toBe(DONE);
    expect(play.left(producer)).toBe(0);
  });
});

describe("while answers that nobody takes fill their share", () => {
  it("a connection has its next fetch answered when the last answer was taken, one in a flush", () => {
    const play = new Play();
    const [takes, takesNothing] = [play.session(3), play.session(3)];
    play.owed.set(takesNothing.connection, 1);
    expect(play.flush(takes, takesNothing)).toEqual([DONE, DONE]);
    const [still, again] = [play.session(3), play.session(3)];
    play.owed.set(again.connection, 1);
    play.crowded = true;
    expect(play.flush(still, again)).toEqual([SERVED, PUT_OFF]);
    expect([play.left(still), play.left(again)]).toEqual([2, 3]);
    play.owed.clear();
    expect(play.flush(still, again)).toEqual([SERVED, SERVED]);
    play.crowded = false;
    expect(play.flush(still, again)).toEqual([DONE, DONE]);
  });

  it("what a producer waits for is answered all the same", () => {
    const play = new Play();
    play.crowded = true;
    const producer = new Session(99);
    play.owed.set(producer.connection, 1);
    for (const n of [0, 1]) {
      play.slots.settle(play.slots.add(producer, n, SlotState.PENDING), ErrorCodes.NONE, n, n + 1);
    }
    expect(play.flush(producer)).toEqual([DONE]);
    expect(play.left(producer)).toBe(0);
  });
});
