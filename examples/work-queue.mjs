// @ts-check
// A work queue over a log: each job is taken by one worker at a time, and done once.
//
// A log has no notion of a job that is taken. Claims make one: a second topic with one partition, in which workers write what
// they take and what they have done. Every worker reads all of it, so each knows the same, and writes with expectedOffset: only
// if nothing was added that it has not seen. Of two workers that reach for the same job one is told OFFSET_MISMATCH; it reads on,
// sees that the job is taken, and looks for another.
//
// A claim holds for a while. A worker that dies leaves its job to the others when that is over; one that is only slow finds out
// when it wants to say that it is done. So work may be begun twice, and `done` is written once. What a job does to the world
// outside must bear being begun twice, as with every queue.
//
// The order of claims is one for all workers, so their number is bounded by how often a partition can be appended to, one after
// the other: hundreds of claims in a second, not hundreds of thousands. For more, give several partitions of jobs a topic of
// claims each.
//
// Run: node examples/work-queue.mjs        Topics on a broker of your own: jobs:1,claims:1

import { setTimeout as sleep } from "node:timers/promises";
import { connect, json, MillraceError } from "millrace/client";
import { exampleBroker, promise } from "./support.mjs";

/** @typedef {{ kind: "claim" | "done", job: number, worker: string, untilMs: number }} Claim `job` is the job's offset */
/** @typedef {{ worker: string, untilMs: number, done: boolean }} Taken */

const CLAIM_MS = 400;

/** What a worker knows of the claims. */
class Claims {
  /** @type {Map<number, Taken>} */
  jobs = new Map();

  /**
   * @param {import("millrace/client").TypedTopic<Claim>} topic
   * @param {number} next where it reads on: the end of what it knows
   */
  constructor(topic, next) {
    this.topic = topic;
    this.next = next;
  }

  /** Reads what others have written. */
  async catchUp() {
    for await (const { value, offset } of this.topic.replay({ from: this.next }).records()) {
      this.jobs.set(value.job, { worker: value.worker, untilMs: value.untilMs, done: value.kind === "done" });
      this.next = offset + 1;
    }
  }

  /**
   * Writes it if nothing has come since the last look. False: something has.
   *
   * @param {Claim} claim
   */
  async write(claim) {
    try {
      await this.topic.append([claim], { partition: 0, expectedOffset: this.next });
      return true;
    } catch (error) {
      // Not written; or nobody knows, since the answer was lost. Reading on tells in either case, and a claim ends by itself.
      const lookAgain = error instanceof MillraceError && ["OFFSET_MISMATCH", "OUTCOME_UNKNOWN"].includes(error.code);
      if (lookAgain) return false;
      throw error;
    }
  }

  /**
   * Takes the first job that nobody has, or whose claim is over. Undefined: there is none now.
   *
   * @param {readonly number[]} jobs
   * @param {string} worker
   */
  async take(jobs, worker) {
    for (;;) {
      await this.catchUp();
      const job = jobs.find((each) => this.isFree(this.jobs.get(each)));
      if (job === undefined) return undefined;
      if (await this.write({ kind: "claim", job, worker, untilMs: Date.now() + CLAIM_MS })) return job;
    }
  }

  /**
   * Says that a job is done, if it is still this worker's.
   *
   * @param {number} job
   * @param {string} worker
   */
  async finish(job, worker) {
    for (;;) {
      await this.catchUp();
      const taken = this.jobs.get(job);
      if (taken?.worker !== worker || taken.done) return false;
      if (await this.write({ kind: "done", job, worker, untilMs: 0 })) return true;
    }
  }

  /** @param {Taken | undefined} taken */
  isFree(taken) {
    // The clocks of workers may differ a little: CLAIM_MS must be long against that, and against how long a job takes.
    return taken === undefined || (!taken.done && taken.untilMs < Date.now());
  }

  /** @param {readonly number[]} jobs */
  allDone(jobs) {
    return jobs.every((job) => this.jobs.get(job)?.done);
  }
}

const broker = await exampleBroker("jobs:1,claims:1");
const client = await connect({ broker: broker.address });
try {
  const jobs = client.topic("jobs", { codec: /** @type {import("millrace/client").Codec<string>} */ (json()) });
  const claims = client.topic("claims", { codec: /** @type {import("millrace/client").Codec<Claim>} */ (json()) });
  const [{ offset: firstClaim }] = await client.offsetsAt("claims", "latest");

  const names = Array.from({ length: 20 }, (_, n) => `resize picture ${n}`);
  const { baseOffset, nextOffset } = await jobs.batch(names, { partition: 0 });
  const all = Array.from({ length: nextOffset - baseOffset }, (_, n) => baseOffset + n);
  console.log(`there are ${all.length} jobs and four workers, one of which dies with its first job`);

  /** @type {Map<string, number>} */
  const finished = new Map();
  /** @param {string} worker */
  const work = async (worker) => {
    const known = new Claims(claims, firstClaim);
    while (!known.allDone(all)) {
      const job = await known.take(all, worker);
      if (job === undefined) {
        await sleep(20);
        await known.catchUp();
        continue;
      }
      if (worker === "dora") {
        console.log(`dora took job ${job - baseOffset} and dies`);
        return;
      }
      await sleep(5); // The work.
      if (await known.finish(job, worker)) finished.set(worker, (finished.get(worker) ?? 0) + 1);
    }
  };
  await work("dora");
  await Promise.all(["anna", "bela", "carl"].map(work));
  for (const [worker, count] of [...finished].sort()) console.log(`${worker} did ${count} jobs`);

  /** @type {number[]} */
  const done = [];
  /** @type {number[]} */
  const taken = [];
  for await (const { value } of claims.replay({ from: firstClaim }).records()) {
    (value.kind === "done" ? done : taken).push(value.job);
  }
  console.log(`the log of claims has ${taken.length} claims and ${done.length} jobs done`);
  promise(done.length === all.length && new Set(done).size === all.length, "each job was done once");
  promise(taken.filter((job) => job === taken[0]).length > 1, "the job of the worker that died was taken again");
} finally {
  await client.close();
  await broker.stop();
}
