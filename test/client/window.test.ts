// What may be on its way.

import { describe, expect, it, vi } from "vitest";
import { Window } from "../../src/client/window.js";

async function isWaiting(promise: Promise<void>): Promise<boolean> {
  const turn = new Promise<boolean>((resolve) => setImmediate(() => resolve(true)));
  return Promise.race([promise.then(() => false), turn]);
}

describe("a window", () => {
  it("is full by bytes or by requests, and has room again when one is answered", async () => {
    for (const window of [new Window(100, 1000), new Window(1_000_000, 2)]) {
      expect(await isWaiting(window.room())).toBe(false);
      window.enter(60);
      window.enter(60);
      const room = window.room();
      expect(window.isFull).toBe(true);
      expect(await isWaiting(room)).toBe(true);
      window.leave(60);
      expect(await isWaiting(room)).toBe(false);
    }
  });

  it("wakes nobody for an answer that makes no room", async () => {
    const window = new Window(1, 3);
    for (let i = 0; i < 3; i++) window.enter(10);
    const looks = vi.spyOn(window, "isFull", "get");
    const waiting = Promise.all(Array.from({ length: 100 }, () => window.room()));
    await isWaiting(Promise.resolve());
    looks.mockClear();
    window.leave(10);
    window.leave(10);
    expect(await isWaiting(waiting.then(() => undefined))).toBe(true);
    expect(looks.mock.calls.length).toBeLessThan(5);
    window.leave(10);
    await waiting;
  });

  it("lets everybody wait until nothing is on its way", async () => {
    const window = new Window(100, 10);
    await window.empty();
    window.enter(1);
    window.enter(1);
    const waiting = [window.empty(), window.empty()];
    window.leave(1);
    expect(await isWaiting(Promise.race(waiting))).toBe(true);
    window.leave(1);
    await Promise.all(waiting);
  });
});
