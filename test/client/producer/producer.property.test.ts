// A producer on a broker that refuses, delays and cuts at random, before and after it carried a request out: what callers were
// told is what the log says.

import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { Producer } from "../../../src/client/producer/producer.js";
import type { ProducerOptions } from "../../../src/client/producer/producer-options.js";
import { ErrorCodes } from "../../../src/model/error-codes.js";
import { FakeBroker } from "../../support/fake-broker.js";
import { printedSeed, randomFrom } from "../../support/seed.js";
import { sleep } from "../../support/waiting.js";
import { backendOf, isProduce, texts } from "./backends.js";

const PARTITIONS = 2;
const ROUNDS = 10;
const SENDS = 120;

interface Told {
  readonly text: string;
  readonly partition: number;
  readonly outcome: number | string;
}

/** Refuses, delays and cuts, until it is told to behave. */
class BadBroker {
  private readonly answers = new Map<Socket, Promise<void>>();
  private isBad = true;
  private nextIsLost = false;

  constructor(
    readonly broker: FakeBroker,
    private readonly random: () => number,
    private readonly cuts: number,
  ) {
    broker.refuse = (request) => {
      if (!isProduce(request) || !this.isBad) return undefined;
      this.nextIsLost = random() < this.cuts;
      // What is lost on its way there is not carried out; what is refused, neither.
      if (this.nextIsLost && random() < 0.5) return ErrorCodes.OVERLOADED;
      return random() < 0.15 ? ErrorCodes.LOG_FULL : undefined;
    };
    broker.intercept = (request) => {
      if (isProduce(request) && this.nextIsLost && this.isBad) {
        this.nextIsLost = false;
        request.socket.resetAndDestroy();
        return true;
      }
      if (request.answer !== undefined) this.answer(request.socket, request.answer);
      return true;
    };
  }

  behave(): void {
    this.isBad = false;
  }

  /** In order, and late. */
  private answer(socket: Socket, answer: Uint8Array): void {
    const before = this.answers.get(socket) ?? Promise.resolve();
    const delay = this.isBad && this.random() < 0.3 ? this.random() * 4 : 0;
    const written = before.then(async () => {
      if (delay > 0) await sleep(delay);
      if (!socket.destroyed) socket.write(answer);
    });
    this.answers.set(socket, written);
  }
}

async function play(random: () => number, cuts: number, options: ProducerOptions): Promise<[Told[], FakeBroker]> {
  const broker = await FakeBroker.start({ topics: { orders: PARTITIONS } });
  const bad = new BadBroker(broker, random, cuts);
  const producer = new Producer(backendOf(broker), {
    lingerMs: Math.floor(random() * 3),
    requestsInFlight: 1 + Math.floor(random() * 5),
    batchRecords: 1 + Math.floor(random() * 4),
    random,
    ...options,
  });
  const told: Promise<Told[]>[] = [];
  const one = (text: string, partition: number, sent: Promise<number>): Promise<Told[]> =>
    sent.then(
      (offset) => [{ text, partition, outcome: offset }],
      (error: { code: string }) => [{ text, partition, outcome: error.code }],
    );
  for (let i = 0; i < SENDS; i++) {
    const partition = Math.floor(random() * PARTITIONS);
    if (random() < 0.2) {
      const sent = producer.batch("orders", [`${i}a`, `${i}b`], { partition });
      told.push(
        one(
          `${i}a`,
          partition,
          sent.then(({ baseOffset }) => baseOffset),
        ),
      );
      told.push(
        one(
          `${i}b`,
          partition,
          sent.then(({ nextOffset }) => nextOffset - 1),
        ),
      );
    } else {
      const sent = producer.send("orders", `${i}`, { partition });
      told.push(
        one(
          `${i}`,
          partition,
          sent.then(({ offset }) => offset),
        ),
      );
    }
    if (random() < 0.2) await sleep(random() * 3);
  }
  setTimeout(() => bad.behave(), 300);
  await producer.close();
  return [(await Promise.all(told)).flat(), broker];
}

describe("a producer on a bad broker", () => {
  it("P06 tells every caller what the log says: acknowledged is there, refused is not, nothing twice, all in order", async () => {
    const random = randomFrom(printedSeed("producer"));
    const codes = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round++) {
      const [told, broker] = await play(random, 0.03, {});
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const log = texts(broker, partition);
        const mine = told.filter((each) => each.partition === partition);
        expect(new Set(log).size).toBe(log.length);
        for (const { text, outcome } of mine) {
          if (typeof outcome === "number") expect(log[outcome]).toBe(text);
          else if (outcome !== "OUTCOME_UNKNOWN") expect(log).not.toContain(text);
          if (typeof outcome === "string") codes.set(outcome, (codes.get(outcome) ?? 0) + 1);
        }
        const order = mine.map(({ text }) => text).filter((text) => log.includes(text));
        expect(log).toEqual(order);
      }
    }
    // The seed decides; a test in which nothing went wrong shows nothing.
    expect([...codes.keys()].every((code) => ["OUTCOME_UNKNOWN", "LOG_FULL", "OVERLOADED"].includes(code))).toBe(true);
    expect(codes.get("OUTCOME_UNKNOWN")).toBeGreaterThan(0);
    expect(codes.get("LOG_FULL")).toBeGreaterThan(0);
  }, 60_000);

  it("P11 loses nothing and writes nothing twice when it is the only writer", async () => {
    const random = randomFrom(printedSeed("exclusive producer"));
    let connections = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const [told, broker] = await play(random, 0.06, { exclusive: true });
      connections += broker.connections;
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const mine = told.filter((each) => each.partition === partition);
        expect(texts(broker, partition)).toEqual(mine.map(({ text }) => text));
        expect(mine.map(({ outcome }) => outcome)).toEqual(mine.map((_, offset) => offset));
      }
    }
    expect(connections).toBeGreaterThan(2 * ROUNDS);
  }, 60_000);
});
