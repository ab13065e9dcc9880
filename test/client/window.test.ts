// What may be on its way.

import { describe, expect, it } from "vitest";
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
