// Requests, valid and damaged, to a running broker: each connection is answered as the grammar says, the process lives, somebody beside it
// is served, and memory stays bounded.

import { readFile } from "node:fs/promises";
import { concat } from "../../../test/support/bytes.js";
import { hello, type Response, Wire } from "../../../test/support/wire.js";
import { BrokerProcess, faultSettings, shownEnd } from "../../lib/broker-process.js";
import type { Random } from "../../lib/random.js";
import type { Stage } from "../../lib/rung.js";
import { within } from "../../lib/witness/ask.js";
import { bodyProblem } from "./bodies.js";
import { FRAME_BYTES_MAX, FRAME_TIMEOUT_MS, QUEUED_BYTES_MAX, SEGMENT_BYTES, WAIT_MS_MAX } from "./bounds.js";
import { BYSTANDER, Bystander } from "./bystander.js";
import { type Expected, foresee, type World } from "./grammar.js";
import { hoard } from "./hoard.js";
import { damaged, extremes, framed, TOPICS, validRequest, withAt } from "./samples.js";
import { trySidePort } from "./side-port.js";
import { sidePortBounds } from "./side-port-bounds.js";
import { partitionsSound } from "./sound.js";

const KiB = 1024;
const HEADER_BYTES = 8;
const ANSWER_MS = 20_000;
const AT_ONCE = 6;
const SIDE_PORT_MS = 8_000;
/** Beyond what it has when it is warm: everything that is bounded, and what a garbage collector leaves lying. */
const MEMORY_BYTES_MAX = 64 * KiB * KiB;
/** A fault of a kind is told once in ten seconds. */
const TOLD_SECONDS = 10;
const LAST = 0x7a7a7a7a;

const world: World = {
  partitions: new Map(Object.entries(TOPICS)),
  payloadBytesMax: SEGMENT_BYTES - HEADER_BYTES,
  frameBytesMax: FRAME_BYTES_MAX,
};

export interface Played {
  readonly counts: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
}

export interface Bounds {
  readonly until: number;
  readonly rounds: number;
}

export async function playRequests(stage: Stage, random: Random, bounds: Bounds): Promise<Played> {
  const broker = await BrokerProcess.start(stage.product, {
    ...faultSettings(stage.directory),
    topics: [...Object.entries({ ...TOPICS, [BYSTANDER]: 1 })].map(([topic, count]) => `${topic}:${count}`).join(","),
    "segment.bytes": SEGMENT_BYTES,
    "max.frame.bytes": FRAME_BYTES_MAX,
    "connection.queued.bytes.max": FRAME_BYTES_MAX,
    "queued.bytes.max": QUEUED_BYTES_MAX,
    "fetch.max.wait.ms": WAIT_MS_MAX,
    "frame.timeout.ms": FRAME_TIMEOUT_MS,
    "retention.bytes": 16 * SEGMENT_BYTES,
    "ops.enabled": true,
    "ops.port": 0,
  });
  const play = new Play(stage, broker, random);
  try {
    return await play.run(bounds);
  } finally {
    await broker.kill();
  }
}

class Play {
  readonly #wrong: string[] = [];
  readonly #counts: Record<string, number> = {
    connections: 0,
    requests: 0,
    answers: 0,
    "closed by the broker": 0,
    "gone without reading": 0,
  };
  readonly #began = performance.now();

  constructor(
    readonly stage: Stage,
    readonly broker: BrokerProcess,
    readonly random: Random,
  ) {}

  async run({ until, rounds }: Bounds): Promise<Played> {
    const bystander = await Bystander.start(this.broker.port);
    await this.#systematic();
    if (!this.#isOver) this.#wrong.push(...(await sidePortBounds(this.broker.opsPort)));
    const warm = await this.#memory();
    let next = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < rounds && performance.now() < until && !this.#isOver) await this.#round(next++);
      }),
    );
    this.#counts.connections += next;
    const { port } = this.broker;
    if (!this.#isOver) this.#wrong.push(...(await hoard(port, this.broker.opsPort, () => this.#memory())));
    if (!this.#isOver) {
      const { asked, wrong } = await trySidePort(this.broker.opsPort, this.random.fork("side port"), SIDE_PORT_MS);
      this.#counts["requests to the side port"] = asked;
      this.#wrong.push(...wrong);
    }
    const grown = (await this.#memory()) - warm;
    this.#counts["MiB of memory more than when it was warm"] = Math.round(grown / (KiB * KiB));
    if (grown > MEMORY_BYTES_MAX) this.#wrong.push(`its memory grew by ${grown} bytes`);
    this.#wrong.push(...(await bystander.end()));
    this.#counts["records of the bystander"] = bystander.records;
    if (this.broker.ended === undefined) {
      const { records, wrong } = await partitionsSound(port, TOPICS);
      this.#counts["records stored"] = records;
      this.#wrong.push(...wrong);
      this.#judgeLog();
      const ended = await this.broker.stop();
      if (ended.code !== 0) this.#wrong.push(`its stop ended with ${shownEnd(ended)}`);
    } else this.#wrong.push(`the broker ended with ${shownEnd(this.broker.ended)}: ${this.broker.stderr.slice(-2000)}`);
    return { counts: this.#counts, wrong: this.#wrong };
  }

  get #isOver(): boolean {
    return this.#wrong.length > 0 || this.broker.ended !== undefined;
  }

  /** One valid request of each kind with each extreme at each of its first places, and cut and split at each. */
  async #systematic(): Promise<void> {
    const random = this.random.fork("systematic");
    const seen = new Set<string>();
    for (let draws = 0; draws < 200 && !this.#isOver; draws++) {
      const request = validRequest(random, 77);
      const kind = Buffer.from(request.subarray(4, 8)).toString("hex");
      if (seen.has(kind) || request.length > 200) continue;
      seen.add(kind);
      const variants: Uint8Array[] = [];
      for (let at = 8; at < request.length; at++) {
        for (const value of extremes)
          if (at + value.length <= request.length) variants.push(withAt(request, at, value));
        variants.push(framed(request.subarray(0, at)));
      }
      for (let from = 0; from < variants.length && !this.#isOver; from += 64) {
        await this.#converse(concat(variants.slice(from, from + 64)), []);
      }
      for (let at = 1; at < request.length && !this.#isOver; at += 3) await this.#converse(request, [at]);
      await this.#converse(
        request,
        Array.from(request, (_, at) => at),
      );
    }
  }

  async #round(number: number): Promise<void> {
    const random = this.random.fork(number);
    if (random.chance(0.05)) return await this.#abandon(random);
    const requests = Array.from({ length: random.skewed(1, 20) }, (_, i) => {
      const request = validRequest(random, random.pick([i, -1, 0, 0x7fffffff]));
      return random.chance(0.5) ? request : damaged(random, request);
    });
    const stream = concat(requests);
    const splits = random.chance(0.5)
      ? []
      : Array.from({ length: random.skewed(1, 12) }, () => random.int(0, stream.length)).sort((a, b) => a - b);
    await this.#converse(stream, splits, random.chance(0.3));
  }

  /** Sends something and is gone, at some moment. */
  async #abandon(random: Random): Promise<void> {
    const wire = await Wire.connect(this.broker.port);
    const requests = Array.from({ length: random.int(1, 30) }, (_, i) => validRequest(random, i));
    const stream = concat(requests);
    wire.send(stream.subarray(0, random.int(1, stream.length + 1)));
    await new Promise((resolve) => setTimeout(resolve, random.skewed(0, 8)));
    if (random.chance(0.5)) wire.socket.resetAndDestroy();
    else wire.destroy();
    this.#counts["gone without reading"]++;
  }

  /** Sends a stream in pieces and compares the answers with what is foreseen. `finishes`: says that it sends nothing more. */
  async #converse(stream: Uint8Array, splits: readonly number[], finishes = false): Promise<void> {
    const { answers, end } = foresee(stream, world);
    this.#counts.requests += answers.length;
    const complain = (what: string): void => {
      const shown = Buffer.from(stream.subarray(0, 2000)).toString("hex");
      this.#wrong.push(`${what}; sent ${stream.length} bytes, split at ${splits.join(" ")}: ${shown}`);
    };
    const wire = await Wire.connect(this.broker.port);
    try {
      for (const [from, to] of pieces(stream.length, splits)) {
        wire.send(stream.subarray(from, to));
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (finishes) wire.socket.end();
      for (const expected of answers) {
        const answer = await within(ANSWER_MS, `the answer to ${shown(expected)}`, wire.response());
        this.#counts.answers++;
        const problem = differs(expected, answer);
        if (problem !== undefined) return complain(problem);
      }
      if (end === "closed") {
        await within(ANSWER_MS, "the end of a connection whose next length cannot be", wire.closed);
        this.#counts["closed by the broker"]++;
        if (wire.buffered > 0) complain(`${wire.buffered} bytes came that nobody asked for`);
      } else if (finishes) {
        await within(ANSWER_MS, "the end of a connection that sends nothing more", wire.closed);
        if (wire.buffered > 0) complain(`${wire.buffered} bytes came that nobody asked for`);
      } else if (end === "frame") {
        const { correlation, error } = await within(ANSWER_MS, "the answer to a HELLO", wire.ask(hello(LAST)));
        if (correlation !== LAST || error !== 0)
          complain(`a HELLO behind it got correlation ${correlation}, error ${error}`);
      }
    } catch (error) {
      complain(String(error instanceof Error ? error.message : error));
    } finally {
      wire.destroy();
    }
  }

  async #memory(): Promise<number> {
    const text = await readFile(`/proc/${this.broker.pid}/status`, "utf8").catch(() => "");
    return Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1] ?? 0) * KiB;
  }

  /** Damaged requests are their sender's business: a line for each would fill a disk. */
  #judgeLog(): void {
    const seconds = (performance.now() - this.#began) / 1000;
    const told = new Map<string, number>();
    for (const { level, kind = "", msg } of this.broker.lines) {
      if (level === "fatal" || level === "error") this.#wrong.push(`it says: ${level} ${kind} ${msg}`);
      if (level === "warn") told.set(kind, (told.get(kind) ?? 0) + 1);
    }
    for (const [kind, times] of told) {
      // A line for each kind of error that there is.
      if (times > 12 * (1 + seconds / TOLD_SECONDS)) this.#wrong.push(`it says ${kind} ${times} times in ${seconds} s`);
    }
  }
}

const shown = ({ key, version, errors }: Expected): string => `request ${key} v${version} (${errors.join(" or ")})`;

function differs(expected: Expected, { correlation, error, body }: Response): string | undefined {
  if (correlation !== expected.correlation) {
    return `${shown(expected)} with correlation ${expected.correlation} got ${correlation}, error ${error}`;
  }
  if (!expected.errors.includes(error)) return `${shown(expected)} was answered ${error}`;
  if (error !== 0) return body.length > 0 ? `${shown(expected)}: error ${error} came with a body` : undefined;
  const problem = bodyProblem(expected.key, expected.version, body);
  return problem === undefined ? undefined : `${shown(expected)}: ${problem}`;
}

function pieces(length: number, splits: readonly number[]): (readonly [number, number])[] {
  const all = [0, ...splits, length];
  return all.slice(1).map((to, i) => [all[i], to] as const);
}
