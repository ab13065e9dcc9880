// The fixed scenario: one client that appends, reads and asks, step by step, and knows what each answer may be when one system call of
// the broker has failed. Whatever happens it must get answers, or see its connection end, before a deadline.

import {
  fetch as fetchFrame,
  produceAt,
  type Response,
  readFetched,
  readProduced,
} from "../../../test/support/wire.js";
import type { BrokerProcess } from "../../lib/broker-process.js";
import { compare, tellAll, Wire, within } from "../../lib/witness/ask.js";
import type { Ledger, Told } from "../../lib/witness/ledger.js";

const STEPS = 12;
const BATCH = 6;
const ANSWER_MS = 15_000;
const RETRIES = 100;
const RETRY_MS = 50;
const FETCH_BYTES = 48 * 1024;
const [STORAGE_FAILURE, LOG_FULL, OVERLOADED, OFFSET_MISMATCH] = [6, 7, 8, 11];

export interface PlayOptions {
  /** Nothing may be noticed. */
  readonly strict: boolean;
}

export class Play {
  readonly wrong: string[] = [];
  /** Answers other than success, and connections that ended. */
  readonly noticed: string[] = [];
  acknowledged = 0;
  #wire: Wire | undefined;
  readonly #poisoned = new Set<Ledger>();

  constructor(
    readonly broker: BrokerProcess,
    readonly ledgers: readonly Ledger[],
    readonly options: PlayOptions,
  ) {}

  async run(steps = STEPS): Promise<void> {
    for (let step = 0; step < steps && this.wrong.length === 0; step++) {
      for (const [index, ledger] of this.ledgers.entries()) {
        await this.#append(ledger, (step + index) % 3 === 0 ? 1 : 2);
        if ((step + index) % 4 === 1) await this.#read(ledger, ledger.logStart);
        if ((step + index) % 4 === 2) await this.#read(ledger, Math.max(ledger.logStart, ledger.sent - 2 * BATCH));
      }
      if (step % 6 === 3) await this.#sidePort("/readyz");
      if (step % 6 === 5) await this.#sidePort("/metrics");
    }
    this.#wire?.destroy();
  }

  #notice(what: string): void {
    this.noticed.push(what);
    if (this.options.strict) this.wrong.push(`noticed by a client: ${what}`);
  }

  /** Undefined: the connection ended before the answer. */
  async #ask(frame: Uint8Array, what: string): Promise<Response | undefined> {
    const wire = await this.#connected(what);
    try {
      return await within(ANSWER_MS, what, wire.ask(frame));
    } catch (error) {
      if (String(error).includes("hangs:")) throw error;
      this.#notice(`${what}: ${String(error)}`);
      wire.destroy();
      this.#wire = undefined;
      if (this.broker.ended !== undefined) throw new Error(`the broker ended during ${what}`);
      return undefined;
    }
  }

  async #connected(what: string): Promise<Wire> {
    if (this.#wire !== undefined && !this.#wire.isClosed) return this.#wire;
    this.#wire = await within(ANSWER_MS, `connecting for ${what}`, Wire.connect(this.broker.port));
    return this.#wire;
  }

  async #told(ledger: Ledger): Promise<Told> {
    for (let tries = 0; tries < RETRIES; tries++) {
      const wire = await this.#connected("METADATA");
      try {
        const told = (await within(ANSWER_MS, "METADATA", tellAll(wire))).get(ledger.name);
        if (told !== undefined) return told;
      } catch (error) {
        if (String(error).includes("hangs:") || this.broker.ended !== undefined) throw error;
        this.#notice(`METADATA: ${String(error)}`);
        this.#wire = undefined;
      }
    }
    throw new Error("METADATA is not answered");
  }

  async #append(ledger: Ledger, ack: number): Promise<void> {
    const { topic, partition } = ledger.at;
    const from = ledger.sent;
    const payloads = Array.from({ length: BATCH }, (_, index) => ledger.payload(from + index));
    const to = from + BATCH;
    ledger.sentMost = Math.max(ledger.sentMost, to);
    const what = `PRODUCE to ${ledger.name} at ${from}`;
    for (let tries = 0; tries < RETRIES; tries++) {
      const answer = await this.#ask(produceAt(from, payloads, { topic, partition, ack }), what);
      if (answer === undefined) continue;
      const { error } = answer;
      if (error === 0) {
        if (this.#poisoned.has(ledger)) this.wrong.push(`${what} was taken after STORAGE_FAILURE`);
        if (readProduced(answer).base !== from) this.wrong.push(`${what} was acknowledged elsewhere`);
        ledger.sent = to;
        ledger.written = Math.max(ledger.written, to);
        if (ack === 2) ledger.forced = Math.max(ledger.forced, to);
        this.acknowledged += BATCH;
        return;
      }
      if (error === STORAGE_FAILURE) {
        if (!this.#poisoned.has(ledger)) this.#notice(`${what}: STORAGE_FAILURE`);
        this.#poisoned.add(ledger);
        return;
      }
      if (error === OFFSET_MISMATCH && tries > 0) {
        // The one before it was carried out, and its answer was lost.
        const { logEnd } = await this.#told(ledger);
        if (logEnd !== to) this.wrong.push(`${what}: the log ends at ${logEnd} after an answer that was lost`);
        ledger.sent = to;
        return;
      }
      if (error !== LOG_FULL && error !== OVERLOADED) {
        this.wrong.push(`${what} was answered ${error}`);
        return;
      }
      this.#notice(`${what}: ${error === LOG_FULL ? "LOG_FULL" : "OVERLOADED"}`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    this.wrong.push(`${what} is refused for ever: ${this.noticed.at(-1)}`);
  }

  async #read(ledger: Ledger, from: number): Promise<void> {
    const { topic, partition } = ledger.at;
    const what = `FETCH of ${ledger.name} at ${from}`;
    for (let tries = 0; tries < RETRIES; tries++) {
      const answer = await this.#ask(fetchFrame(from, { topic, partition, maxBytes: FETCH_BYTES }), what);
      if (answer === undefined) continue;
      if (answer.error === 0) {
        const { highWatermark, payload } = readFetched(answer);
        const { next, wrong } = compare(ledger, from, payload);
        this.wrong.push(...wrong);
        ledger.shown = Math.max(ledger.shown, highWatermark, next);
        if (next === from && highWatermark > from) this.wrong.push(`${what} brings nothing below ${highWatermark}`);
        return;
      }
      const told = await this.#told(ledger);
      if (answer.error === STORAGE_FAILURE && (this.#poisoned.has(ledger) ? from >= told.durable : false)) return;
      // Retention has gone on.
      if (answer.error === 2 && told.logStart > from) return this.#read(ledger, told.logStart);
      if (answer.error !== STORAGE_FAILURE) {
        this.wrong.push(`${what} was answered ${answer.error}`);
        return;
      }
      this.#notice(`${what}: STORAGE_FAILURE`);
      // Poisoned by something else than a PRODUCE: from here on as above.
      if (from >= told.durable) return;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    this.wrong.push(`${what} fails for ever: ${this.noticed.at(-1)}`);
  }

  async #sidePort(path: string): Promise<void> {
    const { opsPort } = this.broker;
    try {
      const answer = await fetch(`http://127.0.0.1:${opsPort}${path}`, {
        headers: { connection: "close" },
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      await answer.text();
    } catch (error) {
      if (error instanceof Error && error.name === "TimeoutError") throw new Error(`hangs: GET ${path}`);
      this.#notice(`GET ${path}: ${String(error)}`);
    }
  }
}
