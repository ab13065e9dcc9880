// Producers and consumers on all partitions of one broker, until it dies or they are told to stop. What they are promised goes into
// the ledgers.

import {
  multiFetch,
  produceAt,
  type Response,
  readFetched,
  readMultiFetched,
  readProduced,
  waitingFetch,
} from "../../../test/support/wire.js";
import type { Random } from "../random.js";
import { compare, tellAll, Wire } from "./ask.js";
import type { Ledger } from "./ledger.js";

const FORCED = 2;
const WRITTEN = 1;
const STORAGE_FAILURE = 6;
/** LOG_FULL, OVERLOADED. */
const RETRIABLE: readonly number[] = [7, 8];
const SHUTTING_DOWN = 9;
const OFFSET_MISMATCH = 11;
const OFFSET_OUT_OF_RANGE = 2;
/** A batch is below the largest request. */
const BATCH_BYTES = 200_000;
const RETRY_MS = 20;
const FETCH_WAIT_MS = 200;
const FETCH_BYTES = 256 * 1024;
const TELL_MS = 15;

export interface LoadOptions {
  /** Most requests of one producer in flight. */
  readonly window: number;
  /** Records in a batch, at most. */
  readonly batch: number;
  /** How many of its batches ask for FORCED. */
  readonly forcedShare: number;
  /** Between two batches of a producer, at most. */
  readonly pauseMs?: number;
}

export interface Loaded {
  readonly wrong: readonly string[];
  /** Answers by error code, of PRODUCE. */
  readonly answers: ReadonlyMap<number, number>;
  readonly acknowledged: number;
  readonly read: number;
}

export class Load {
  readonly #wires: Wire[] = [];
  readonly #wrong: string[] = [];
  readonly #answers = new Map<number, number>();
  readonly #work: Promise<void>[] = [];
  #acknowledged = 0;
  #read = 0;
  #stopped = false;
  #cut = false;

  private constructor(
    readonly port: number,
    readonly random: Random,
  ) {}

  static start(port: number, ledgers: readonly Ledger[], options: LoadOptions, random: Random): Load {
    const load = new Load(port, random);
    for (const ledger of ledgers) {
      load.#go((wire) => load.#produce(wire, ledger, options, random.fork(ledger.name)));
      load.#go((wire) => (ledger.at.partition % 2 === 0 ? load.#consume(wire, ledger) : load.#follow(wire, ledger)));
    }
    load.#go((wire) => load.#listen(wire, ledgers));
    return load;
  }

  get answers(): ReadonlyMap<number, number> {
    return this.#answers;
  }
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /**
   * From here on nothing that the broker says counts: whom a real cut takes the power says nothing any more. (A barrier that is under way
   * when ext4 is shut down may succeed, although the change of its extents from unwritten to written has failed.)
   */
  cutOff(): void {
    this.#cut = true;
    this.#stopped = true;
  }

  /** No new batch; waits for the answers of those in flight. */
  async drain(): Promise<Loaded> {
    this.#stopped = true;
    await Promise.all(this.#work);
    return this.#result();
  }

  /** Without waiting for any answer. */
  async end(): Promise<Loaded> {
    this.#stopped = true;
    for (const wire of this.#wires) wire.destroy();
    await Promise.all(this.#work);
    return this.#result();
  }

  #result(): Loaded {
    return { wrong: this.#wrong, answers: this.#answers, acknowledged: this.#acknowledged, read: this.#read };
  }

  #go(work: (wire: Wire) => Promise<void>): void {
    const run = async (): Promise<void> => {
      const wire = await Wire.connect(this.port);
      this.#wires.push(wire);
      if (!this.#stopped) await work(wire);
      wire.destroy();
    };
    // A connection that ends is what a death of the broker looks like; everything else is said by whoever finds it.
    this.#work.push(run().catch((error: unknown) => this.#unlessGone(error)));
  }

  #unlessGone(error: unknown): void {
    const text = String(error);
    if (!this.#cut && !/the connection ended|ECONNREFUSED|ECONNRESET|EPIPE/.test(text)) this.#wrong.push(text);
  }

  async #produce(wire: Wire, ledger: Ledger, options: LoadOptions, random: Random): Promise<void> {
    const flying: { from: number; to: number; ack: number }[] = [];
    const window = random.int(1, options.window + 1);
    let broken = false;
    while (!this.#stopped || flying.length > 0) {
      while (!this.#stopped && !broken && flying.length < window) {
        const ack = random.chance(options.forcedShare) ? FORCED : WRITTEN;
        flying.push(this.#send(wire, ledger, ack, random.skewed(1, options.batch + 1)));
        if (options.pauseMs !== undefined) break;
      }
      if (flying.length === 0) {
        // All answers behind the refused one have come: nothing of them was kept.
        broken = false;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        continue;
      }
      const flown = flying[0];
      const answer = await wire.response();
      flying.shift();
      const verdict = this.#answered(ledger, flown, answer, broken);
      if (verdict === "over") return;
      broken ||= verdict === "refused";
      if (options.pauseMs !== undefined) {
        await new Promise((resolve) => setTimeout(resolve, random.int(0, options.pauseMs ?? 1)));
      }
    }
  }

  #send(wire: Wire, ledger: Ledger, ack: number, most: number): { from: number; to: number; ack: number } {
    const from = ledger.sent;
    const payloads: Uint8Array[] = [];
    for (let bytes = 0; payloads.length < most; ) {
      const payload = ledger.payload(from + payloads.length);
      bytes += payload.length + 4;
      if (bytes > BATCH_BYTES && payloads.length > 0) break;
      payloads.push(payload);
    }
    const { topic, partition } = ledger.at;
    ledger.sent = from + payloads.length;
    ledger.sentMost = Math.max(ledger.sentMost, ledger.sent);
    wire.send(produceAt(from, payloads, { topic, partition, ack }));
    return { from, to: ledger.sent, ack };
  }

  #answered(
    ledger: Ledger,
    { from, to, ack }: { from: number; to: number; ack: number },
    answer: Response,
    broken: boolean,
  ): "kept" | "refused" | "over" {
    const { error } = answer;
    this.#answers.set(error, (this.#answers.get(error) ?? 0) + 1);
    if (this.#cut) return "over";
    if (error === 0) {
      const { base } = readProduced(answer);
      if (base !== from) this.#wrong.push(`${ledger.name}: a batch for offset ${from} was acknowledged at ${base}`);
      this.#acknowledged += to - from;
      ledger.acknowledged += to - from;
      ledger.written = Math.max(ledger.written, to);
      if (ack === FORCED) ledger.forced = Math.max(ledger.forced, to);
      return "kept";
    }
    if (error === STORAGE_FAILURE) ledger.failed = true;
    if (error === STORAGE_FAILURE || error === SHUTTING_DOWN) return "over";
    if (RETRIABLE.includes(error)) ledger.refused++;
    if (RETRIABLE.includes(error) || (broken && error === OFFSET_MISMATCH)) {
      ledger.sent = Math.min(ledger.sent, from);
      return "refused";
    }
    this.#wrong.push(`${ledger.name}: PRODUCE at ${from} was answered ${error}`);
    return "over";
  }

  /** A consumer: FETCH v2 up to the high watermark. */
  async #consume(wire: Wire, ledger: Ledger): Promise<void> {
    const { topic, partition } = ledger.at;
    for (let at = ledger.logStart; !this.#stopped; ) {
      const wish = { topic, partition, maxBytes: FETCH_BYTES, maxWaitMs: FETCH_WAIT_MS };
      const answer = await wire.ask(waitingFetch(at, wish));
      if (answer.error !== 0) {
        const next = await this.#afterRefusal(wire, ledger, at, answer.error);
        if (next === undefined) return;
        at = next;
        continue;
      }
      if (this.#cut) return;
      const { highWatermark, payload } = readFetched(answer);
      ledger.shown = Math.max(ledger.shown, highWatermark);
      at = this.#took(ledger, at, payload);
    }
  }

  /** The same by FETCH v3. */
  async #follow(wire: Wire, ledger: Ledger): Promise<void> {
    const { topic, partition } = ledger.at;
    for (let at = ledger.logStart; !this.#stopped; ) {
      const position = { topic, partition, offset: at, maxBytes: FETCH_BYTES, epoch: ledger.epoch };
      const wish = { maxWaitMs: FETCH_WAIT_MS, minBytes: 1, maxBytes: FETCH_BYTES };
      const answer = await wire.ask(multiFetch([position], wish));
      if (answer.error === SHUTTING_DOWN) return;
      const [part] = readMultiFetched(answer);
      if (part.error !== 0) {
        const next = await this.#afterRefusal(wire, ledger, at, part.error);
        if (next === undefined) return;
        at = next;
        continue;
      }
      if (this.#cut) return;
      ledger.shown = Math.max(ledger.shown, part.highWatermark);
      at = this.#took(ledger, at, part.payload);
    }
  }

  #took(ledger: Ledger, at: number, payload: Uint8Array): number {
    const { next, wrong } = compare(ledger, at, payload);
    this.#wrong.push(...wrong);
    this.#read += next - at;
    ledger.shown = Math.max(ledger.shown, next);
    return next;
  }

  /** Where reading goes on, or undefined when it does not. */
  async #afterRefusal(wire: Wire, ledger: Ledger, at: number, error: number): Promise<number | undefined> {
    if (error === STORAGE_FAILURE || error === SHUTTING_DOWN) return undefined;
    const all = await tellAll(wire);
    // Retention was ahead of this reader, and a stop was ahead of its question where the log begins now.
    if (all.size === 0) return undefined;
    const told = all.get(ledger.name);
    if (error === OFFSET_OUT_OF_RANGE && told !== undefined && told.logStart > at) return told.logStart;
    this.#wrong.push(`${ledger.name}: FETCH at ${at} was answered ${error} (${JSON.stringify(told)})`);
    return undefined;
  }

  /** What the broker says is durable is a promise, too. */
  async #listen(wire: Wire, ledgers: readonly Ledger[]): Promise<void> {
    while (!this.#stopped) {
      const all = await tellAll(wire);
      // Said after the power was cut it is no promise.
      if (this.#stopped) return;
      for (const ledger of ledgers) {
        const told = all.get(ledger.name);
        if (told !== undefined) ledger.heard(told);
      }
      await new Promise((resolve) => setTimeout(resolve, TELL_MS));
    }
  }
}
