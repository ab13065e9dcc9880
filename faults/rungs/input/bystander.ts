// Somebody who means no harm on the same broker: what he appends is acknowledged in order and comes back, all the time.

import { ascii } from "../../../test/support/bytes.js";
import { fetch, produce, readFetched, readProduced, readStored, Wire } from "../../../test/support/wire.js";
import { within } from "../../lib/witness/ask.js";

export const BYSTANDER = "bystander";
const PAUSE_MS = 15;
/** The machine is busy, and so is the broker. Beyond it nobody is served. */
const SERVED_MS = 10_000;

export class Bystander {
  records = 0;
  readonly #wrong: string[] = [];
  #stopped = false;
  readonly #work: Promise<void>;

  private constructor(readonly wire: Wire) {
    this.#work = this.#go().catch((error: unknown) => {
      this.#wrong.push(`the bystander: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  static async start(port: number): Promise<Bystander> {
    return new Bystander(await Wire.connect(port));
  }

  async end(): Promise<readonly string[]> {
    this.#stopped = true;
    await this.#work;
    this.wire.destroy();
    return this.#wrong;
  }

  async #go(): Promise<void> {
    for (let round = 1; !this.#stopped && this.#wrong.length === 0; round++) {
      const count = 1 + (round % 3);
      const sent = Array.from({ length: count }, (_, i) =>
        ascii(`record ${this.records + i} ${"x".repeat(round % 50)}`),
      );
      const request = produce(sent, { topic: BYSTANDER, ack: 1 + (round % 2), correlation: round });
      const answer = await within(SERVED_MS, "a PRODUCE of the bystander", this.wire.ask(request));
      if (answer.error !== 0 || answer.correlation !== round) {
        this.#wrong.push(`the bystander's PRODUCE ${round} was answered ${answer.correlation}, error ${answer.error}`);
        return;
      }
      const { base } = readProduced(answer);
      if (base !== this.records)
        this.#wrong.push(`the bystander's batch got offset ${base} after ${this.records} records`);
      const question = fetch(base, { topic: BYSTANDER, correlation: -round });
      const fetched = await within(SERVED_MS, "a FETCH of the bystander", this.wire.ask(question));
      const { payloads } = readStored(fetched.error === 0 ? readFetched(fetched).payload : new Uint8Array(0));
      const same = payloads.length >= count && sent.every((bytes, i) => Buffer.compare(bytes, payloads[i]) === 0);
      if (!same) this.#wrong.push(`the bystander read ${payloads.length} other records (error ${fetched.error})`);
      this.records += count;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
