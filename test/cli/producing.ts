// `millrace produce` on a played broker, and what came of it.

import { RequestKind } from "../../src/protocol/api-keys.js";
import { millrace, type VerbOptions } from "../support/cli.js";
import { FakeBroker, type FakeOptions, type FakeRequest } from "../support/fake-broker.js";

export async function producing(fake: FakeOptions, args: readonly string[], options: VerbOptions) {
  const broker = await FakeBroker.start(fake);
  const result = await millrace(["produce", "orders", "--broker", broker.address, ...args], options);
  return { broker, ...result };
}

export const texts = (broker: FakeBroker, partition = 0) =>
  broker.log("orders", partition).map((record) => Buffer.from(record).toString());
export const lines = (count: number, from = 1) => Array.from({ length: count }, (_, i) => `line ${from + i}`);
/** What is said below the first message. */
export const account = (stderr: string) =>
  stderr
    .split("\n")
    .filter((line) => line.startsWith("  "))
    .map((line) => line.slice(2));
export const isProduce = ({ kind }: Pick<FakeRequest, "kind">) => kind === RequestKind.PRODUCE_V1;
