// A process that tries all decoders: `program.js SEED SECONDS DIRECTORY`. Says what it does on stdout, a line of JSON each.

import { Random } from "../../../lib/random.js";
import { damaged, extremes, withAt } from "../samples.js";
import { among, type Decoder } from "./decoder.js";
import { listen, takeLargest } from "./memory.js";
import { answerDecoders } from "./of-answers.js";
import { requestDecoders } from "./of-requests.js";
import { storedDecoders } from "./of-stored.js";

/** What may be allocated for each byte of an input, and without one. */
const PER_BYTE = 64;
const ALLOWANCE = 16 * 1024;
/** Of the processor, for one input: quick decoders take a microsecond. What others do with the machine meanwhile does not count. */
const CASE_MS_MAX = 2_000;
const SAY_MS = 1_000;
const WRONG_MAX = 5;
/** Beyond it places are tried in steps: a slot of a checkpoint is mostly zeros. */
const EVERY_PLACE = 400;

const say = (said: unknown): void => {
  process.stdout.write(`${JSON.stringify(said)}\n`);
};

class Trial {
  cases = 0;
  wrong = 0;
  #said = performance.now();

  constructor(readonly decoder: Decoder) {}

  async one(bytes: Uint8Array): Promise<void> {
    this.cases++;
    const { decoder } = this;
    takeLargest();
    const began = process.cpuUsage();
    const first = await this.#outcome(bytes, 0);
    const { user, system } = process.cpuUsage(began);
    const took = (user + system) / 1000;
    const largest = takeLargest();
    if (largest > ALLOWANCE + (decoder.takes ?? 0) + PER_BYTE * bytes.length) {
      this.#complain(bytes, `it asked for ${largest} at once`);
    }
    if (took > CASE_MS_MAX) this.#complain(bytes, `it took ${took} ms of the processor`);
    if (!decoder.slow) {
      const second = await this.#outcome(bytes, 0xff);
      if (second !== first) this.#complain(bytes, `what stands beside it counts: ${first} and ${second}`);
    }
    if (decoder.reference !== undefined) {
      const expected = JSON.stringify(decoder.reference(bytes));
      if (expected !== first) this.#complain(bytes, `it says ${first}, and the reference ${expected}`);
    }
    if (performance.now() - this.#said > SAY_MS) this.say();
  }

  say(): void {
    this.#said = performance.now();
    say({ decoder: this.decoder.name, cases: this.cases });
  }

  /** As text. */
  async #outcome(bytes: Uint8Array, filler: number): Promise<string> {
    try {
      return JSON.stringify(await this.decoder.decode(among(bytes, filler))) ?? "undefined";
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (typeof code === "string" && this.decoder.throws.includes(code)) return `throws ${code}`;
      this.#complain(bytes, `it throws ${error instanceof Error ? error.stack : String(error)}`);
      return "threw";
    }
  }

  #complain(bytes: Uint8Array, what: string): void {
    if (this.wrong++ < WRONG_MAX) {
      const shown = Buffer.from(bytes.subarray(0, 600)).toString("hex");
      say({ wrong: `${this.decoder.name}: ${what}; ${bytes.length} bytes: ${shown}` });
    }
  }
}

/** Cut at every byte, and every number at its extremes at every place. */
function* systematic({ samples, long = [], slow = false }: Decoder): Generator<Uint8Array> {
  yield* long;
  for (const sample of samples) {
    yield sample;
    for (let at = 0; at < sample.length; at += at < EVERY_PLACE ? 1 : 97) {
      yield sample.slice(0, at);
      for (const value of slow ? extremes.slice(0, 5) : extremes) yield withAt(sample, at, value);
    }
    yield new Uint8Array([...sample, 0]);
  }
}

async function main([seed, seconds, directory]: readonly string[]): Promise<void> {
  const decoders = [...requestDecoders, ...answerDecoders, ...storedDecoders(directory)];
  listen();
  // Some are Buffers, whose `slice` is no copy: the first damage would be in all that come after it.
  const trials = decoders.map(
    (decoder) => new Trial({ ...decoder, samples: decoder.samples.map((sample) => Uint8Array.from(sample)) }),
  );
  for (const trial of trials) {
    const { mend } = trial.decoder;
    trial.say();
    for (const bytes of systematic(trial.decoder)) {
      await trial.one(bytes);
      if (mend !== undefined) {
        const mended = bytes.slice();
        mend(mended);
        await trial.one(mended);
      }
      if (trial.wrong > WRONG_MAX) break;
    }
    trial.say();
    // A product that is broken in one place need not be tried in all.
    if (trial.wrong > 0) break;
  }
  const until = performance.now() + Number(seconds) * 1000;
  const random = new Random(Number(seed));
  for (let round = 0; performance.now() < until && trials.every(({ wrong }) => wrong === 0); round++) {
    for (const trial of trials) {
      if (trial.decoder.slow && round % 50 !== 0) continue;
      const bytes = damaged(random, random.pick(trial.decoder.samples)).slice();
      if (random.chance(0.7)) trial.decoder.mend?.(bytes);
      await trial.one(bytes);
    }
  }
  for (const trial of trials) trial.say();
}

await main(process.argv.slice(2));
