// Crowds, each in a process of its own: begun, told to end, and what they did.

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

export type Play =
  | "hold"
  | "slow writers"
  | "slow readers"
  | "half open"
  | "storm"
  | "drops"
  | "unread descriptions"
  | "unread fetches"
  | "unread waits";

export interface CrowdJob {
  readonly port: number;
  readonly play: Play;
  readonly count: number;
  readonly seed: number;
}

/** What still runs: ended with this process, whatever ends it. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** A crowd that does not do what it is to do is of no use. */
const BEGINS_MS = 120_000;

export class Crowd {
  #stdout = "";
  readonly #done: Promise<void>;
  #ended = false;

  private constructor(
    readonly job: CrowdJob,
    readonly child: ChildProcess,
  ) {
    running.add(child);
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
    });
    this.#done = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", () => {
        running.delete(child);
        this.#ended = true;
        resolve();
      });
    });
  }

  static begin(root: string, job: CrowdJob): Crowd {
    const program = join(root, ".cache/faults/js/rungs/load/programs/crowd.js");
    const child = spawn(process.execPath, [program, JSON.stringify(job)], { stdio: ["pipe", "pipe", "inherit"] });
    child.stdin?.on("error", () => undefined);
    return new Crowd(job, child);
  }

  /** How many connections it has, when all of them are there. */
  async ready(): Promise<number> {
    const until = performance.now() + BEGINS_MS;
    while (!/ready \d+\n/.test(this.#stdout)) {
      if (this.#ended || performance.now() > until) throw new Error(`the crowd "${this.job.play}" did not begin`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return Number(/ready (\d+)\n/.exec(this.#stdout)?.[1]);
  }

  /** Resolves with what it did, when it has done all. */
  async done(): Promise<number> {
    await this.#done;
    return this.#count();
  }

  /** Its connections end with it, some in the middle of something. */
  async end(): Promise<number> {
    this.child.stdin?.end();
    return this.done();
  }

  #count(): number {
    const done = /done (\d+)\n/.exec(this.#stdout)?.[1];
    if (done === undefined) throw new Error(`the crowd "${this.job.play}" did not end well`);
    return Number(done);
  }
}
