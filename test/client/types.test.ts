// What the compiler refuses: each line marked as an error must be one, or `tsc` says so. Nothing here is sent.

import { expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";

it("the compiler refuses what a call would", () => {
  const calls = (client: Client, key: string, partition: number) => {
    const producer = client.producer();
    // @ts-expect-error a key chooses the partition
    void producer.send("orders", "a", { key, partition });
    // @ts-expect-error each letter would be a record
    void producer.batch("orders", "abc");
    // @ts-expect-error each letter would be a record
    void producer.append("orders", "abc", { partition, expectedOffset: 0 });
    void producer.send("orders", "a", { key });
    void producer.send("orders", "a", { partition });
    void producer.batch("orders", new Set(["abc"]));
  };
  expect(calls).toBeTypeOf("function");
});
