// When positions are saved, with a store that takes its time.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Saver } from "../../../src/client/checkpoint/saver.js";
import type { CheckpointPosition } from "../../../src/client/checkpoint/store.js";
import { offset } from "../../../src/model/ids.js";

const at = (next: number): CheckpointPosition[] => [{ topic: "orders", partition: 0, offset: offset(next), epoch: 0 }];

/** A store whose saves end when the test says so. */
function slowly() {
  const saves: { readonly next: number; end: () => void; fail: (error: Error) => void }[] = [];
  const store = {
    load: async () => [],
    save: ([{ offset: next }]: readonly CheckpointPosition[]) =>
      new Promise<void>((end, fail) => {
        saves.push({ next, end, fail });
      }),
  };
  return { store, saves };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("what saves positions", () => {
  it("P04 ends a flush when what waited is in the store, also when another flush saves it", async () => {
    const { store, saves } = slowly();
    const saver = new Saver(store, 0);
    const ended: string[] = [];
    const calls = [
      saver.handled(at(1)).then(() => ended.push("first")),
      saver.handled(at(2)).then(() => ended.push("second")),
      saver.flush().then(() => ended.push("flush")),
    ];
    saves[0].end();
    await turn();
    expect(saves.map(({ next }) => next)).toEqual([1, 2]);
    expect(ended).toEqual(["first"]);
    saves[1].end();
    await Promise.all(calls);
  });

  it("tells everybody who waits that a save has failed", async () => {
    const { store, saves } = slowly();
    const saver = new Saver(store, 0);
    const first = saver.handled(at(1));
    const calls = [saver.handled(at(2)), saver.flush()];
    saves[0].end();
    await first;
    await turn();
    saves[1].fail(new Error("full"));
    for (const call of calls) await expect(call).rejects.toThrow("full");
    await expect(saver.handled(at(3))).rejects.toThrow("full");
  });

  it.each([Number.POSITIVE_INFINITY, 2 ** 31])(
    "saves the first and then no other before the end, every %d ms",
    async (everyMs) => {
      const { store, saves } = slowly();
      const saver = new Saver(store, everyMs);
      const warned = vi.fn();
      process.on("warning", warned);
      onTestFinished(() => void process.off("warning", warned));
      const first = saver.handled(at(1));
      saves[0].end();
      await first;
      await saver.handled(at(2));
      await sleep(20);
      await saver.handled(at(3));
      expect(saves.map(({ next }) => next)).toEqual([1]);
      const last = saver.flush();
      await turn();
      saves[1].end();
      await last;
      expect(saves.map(({ next }) => next)).toEqual([1, 3]);
      expect(warned).not.toHaveBeenCalled();
    },
  );

  it("fails with what a store throws that does not return a promise", async () => {
    const saver = new Saver(
      {
        load: async () => [],
        save: () => {
          throw new Error("no");
        },
      },
      0,
    );
    await expect(saver.handled(at(1))).rejects.toThrow("no");
    await expect(saver.flush()).rejects.toThrow("no");
  });
});
