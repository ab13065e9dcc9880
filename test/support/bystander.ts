// Somebody who uses a broker as one should while others do not, and notices what that costs.

import { expect } from "vitest";
import { type BrokerProcess, connectTo } from "./broker.js";
import { ascii } from "./bytes.js";
import { produce, readProduced, type Wire } from "./wire.js";

/**
 * A client that goes on all the while. It measures how long the slowest answer took, and how much the broker's loop worked
 * before the answer that it worked longest for: that is what others cost it, however busy the machine is.
 */
export class Bystander {
  slowestMs = 0;
  mostWorkMs = 0;
  private readonly works: number[] = [];
  asked = 0;
  private first: number | undefined;
  private going = true;
  private readonly done: Promise<void>;

  constructor(
    private readonly wire: Wire,
    private readonly broker: BrokerProcess,
  ) {
    this.done = this.run();
    // Reported by `stop`; a test that has failed before does not come to that.
    this.done.catch(() => undefined);
  }

  private async run(): Promise<void> {
    while (this.going) {
      const before = performance.now();
      const worked = this.broker.loopCpuMs();
      const { base } = readProduced(await this.wire.ask(produce([ascii("bystander")], { topic: "bystander" })));
      this.slowestMs = Math.max(this.slowestMs, performance.now() - before);
      const work = this.broker.loopCpuMs() - worked;
      this.works.push(work);
      this.mostWorkMs = Math.max(this.mostWorkMs, work);
      this.first ??= base;
      expect(base).toBe(this.first + this.asked++);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** What the loop does before half of the answers: less moved by a machine that lets this process wait for its answers. */
  get medianWorkMs(): number {
    return [...this.works].sort((a, b) => a - b)[this.works.length >> 1];
  }

  async stop(): Promise<this> {
    this.going = false;
    await this.done;
    return this;
  }
}

/** What the broker may do for others before it answers a bystander: a few turns, of code that was never run before. */
const WORK_MS = 50;
/** What a bystander may wait at the most: nobody is forgotten, but the machine runs other tests beside this one. */
const PATIENCE_MS = 10_000;

/** Runs `abuse` beside a bystander (on a topic of that name), who must not be worked for late nor forgotten. */
export async function withBystander(
  broker: BrokerProcess,
  abuse: () => Promise<unknown>,
  workMs = WORK_MS,
): Promise<Bystander> {
  const bystander = new Bystander(await connectTo(broker), broker);
  await abuse();
  const { asked, mostWorkMs, slowestMs } = await bystander.stop();
  expect(asked).toBeGreaterThan(0);
  expect(mostWorkMs).toBeLessThan(workMs);
  expect(slowestMs).toBeLessThan(PATIENCE_MS);
  return bystander;
}
