// Deadlines and order, with a clock that the test moves.

import { describe, expect, it } from "vitest";
import { type OpenRequest, RequestQueue } from "../../src/client/request-queue.js";
import { MillraceError } from "../../src/model/errors.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { ManualTime } from "../support/manual-time.js";

function setUp() {
  const time = new ManualTime();
  const queue = new RequestQueue(time);
  const failed: string[] = [];
  const push = (id: number, deadline: number): OpenRequest => {
    const reject = (error: MillraceError) => failed.push(`${id} ${error.code}`);
    const request: OpenRequest = {
      kind: RequestKind.HELLO_V1,
      correlationId: id,
      what: () => `request ${id}`,
      allowedMs: 5,
      deadline,
      answerBytesMax: 0,
      resolve: () => undefined,
      reject,
      expired: false,
    };
    queue.push(request);
    return request;
  };
  return { time, queue, failed, push };
}

describe("requests that wait for answers", () => {
  it("come out in the order in which they went in, any number of them", () => {
    const { queue, push } = setUp();
    for (let id = 0; id < 5000; id++) push(id, 1000);
    for (let id = 0; id < 5000; id++) {
      expect(queue.first?.correlationId).toBe(id);
      expect(queue.shift()?.correlationId).toBe(id);
      expect(queue.length).toBe(4999 - id);
    }
    expect(queue.shift()).toBeUndefined();
  });

  it("are rejected at their deadlines, each at its own, and keep their place", () => {
    const { time, queue, failed, push } = setUp();
    push(1, 100);
    push(2, 30);
    push(3, 60);
    time.advance(29);
    expect(failed).toEqual([]);
    time.advance(1);
    expect(failed).toEqual(["2 REQUEST_TIMEOUT"]);
    time.advance(30);
    time.advance(40);
    expect(failed).toEqual(["2 REQUEST_TIMEOUT", "3 REQUEST_TIMEOUT", "1 REQUEST_TIMEOUT"]);
    expect([queue.shift(), queue.shift(), queue.shift()].map((request) => request?.expired)).toEqual([
      true,
      true,
      true,
    ]);
  });

  it("are not rejected when their answer came in time", () => {
    const { time, queue, failed, push } = setUp();
    push(1, 100);
    queue.shift();
    push(2, 150);
    time.advance(149);
    expect(failed).toEqual([]);
    time.advance(1);
    expect(failed).toEqual(["2 REQUEST_TIMEOUT"]);
  });

  it("share one timer", () => {
    const { time, push } = setUp();
    for (let id = 0; id < 100; id++) push(id, 1000 - id);
    expect(time.armed).toBe(1);
  });

  it("all fail together, those past their deadline not twice, and no timer is left", async () => {
    const { time, queue, failed, push } = setUp();
    push(1, 10);
    push(2, 20);
    time.advance(10);
    const drained = queue.drained();
    queue.failAll(new MillraceError("CONNECTION_LOST", "gone"));
    expect(failed).toEqual(["1 REQUEST_TIMEOUT", "2 CONNECTION_LOST"]);
    expect(time.armed).toBe(0);
    await drained;
  });

  it("drain when the last one is answered", async () => {
    const { queue, push } = setUp();
    await queue.drained();
    push(1, 10);
    push(2, 10);
    let drained = false;
    const waiting = queue.drained().then(() => {
      drained = true;
    });
    queue.shift();
    await Promise.resolve();
    expect(drained).toBe(false);
    queue.shift();
    await waiting;
  });
});
