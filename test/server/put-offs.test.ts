// Sessions that are looked at again after a while: each, some at a time, by one timer.

import { describe, expect, it } from "vitest";
import { PUT_OFF_LOOKS, PUT_OFF_MS } from "../../src/model/limits.js";
import { PutOffs } from "../../src/server/put-offs.js";
import { Session } from "../../src/server/session.js";
import { ManualTime } from "../support/manual-time.js";

describe("sessions that were put off", () => {
  it("are looked at some at a time by one timer, the longest first, and none twice", () => {
    const time = new ManualTime();
    const looked: number[] = [];
    const putOffs = new PutOffs(time, ({ connection }) => looked.push(connection));
    const sessions = Array.from({ length: PUT_OFF_LOOKS + 10 }, (_, n) => new Session(n));
    for (const session of [...sessions, ...sessions]) putOffs.add(session);
    expect([putOffs.count, time.armed]).toEqual([sessions.length, 1]);
    time.advance(PUT_OFF_MS);
    expect(looked).toHaveLength(PUT_OFF_LOOKS);
    time.advance(PUT_OFF_MS);
    expect(looked).toEqual(sessions.map(({ connection }) => connection));
    expect([putOffs.count, time.armed]).toEqual([0, 0]);
  });

  it("that are put off again while they are looked at come behind the others", () => {
    const time = new ManualTime();
    const looked: number[] = [];
    const putOffs = new PutOffs(time, (session) => {
      looked.push(session.connection);
      if (looked.length < 4) putOffs.add(session);
    });
    for (const n of [1, 2]) putOffs.add(new Session(n));
    for (let round = 0; round < 4; round++) {
      expect(time.armed).toBeLessThanOrEqual(1);
      time.advance(PUT_OFF_MS);
    }
    expect(looked).toEqual([1, 2, 1, 2, 1]);
    expect([putOffs.count, time.armed]).toEqual([0, 0]);
  });
});
