// docs/settings-refusals.md shows what each setting says to a value that it does not take: made by giving it one.
// `npx vitest run test/ops/refusals-page.test.ts -u` writes it anew.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packageRoot } from "../../src/native/load.js";
import { factsOf } from "../../src/ops/settings/kinds.js";
import { resolve } from "../../src/ops/settings/resolve.js";
import { fromDocument, fromEnvironment, fromFlags } from "../../src/ops/settings/sources.js";
import { flagOf, rowOf, type SettingKey, settingKeys } from "../../src/ops/settings/table.js";

/** A value for each setting as somebody may write it by mistake. */
const wrong: Readonly<Record<SettingKey, string>> = {
  "data.dir": "",
  host: "",
  port: "65536",
  "socket.path": `/run/${"long/".repeat(20)}millrace.sock`,
  "ops.enabled": "yes",
  "ops.host": "",
  "ops.port": "-1",
  "ops.allowed.hosts": "http://broker.example/",
  topics: "orders",
  "segment.mode": "MMAP",
  "segment.bytes": "128MB",
  "segment.roll.ms": "7days",
  "record.format": "crc32",
  visibility: "forced",
  "index.interval.bytes": "1",
  "flush.every.records": "0",
  "flush.every.ms": "0.5s",
  "retention.bytes": "10G",
  "retention.ms": "1w",
  "retention.check.ms": "1ms",
  "disk.reserve.bytes": "5%",
  "fetch.mode": "zero_copy",
  "fetch.max.wait.ms": "2h",
  "fetch.max.bytes": "2GiB",
  "max.frame.bytes": "1GiB",
  "connections.max": "10k",
  "connection.idle.ms": "0",
  "connection.requests.max": "100000",
  "connection.write.stall.ms": "10ms",
  "frame.timeout.ms": "1",
  "queued.bytes.max": "512KiB",
  "connection.queued.bytes.max": "16",
  "populate.ahead.max": "128GiB",
  "index.cache.bytes": "0",
  "stop.timeout.ms": "0",
  "log.level": "verbose",
};

/** What names nothing, or holds one by one and not together. */
const others: readonly (readonly [what: string, problems: readonly string[] | undefined])[] = [
  ["an unknown flag", refusals(["--dat-dir=x"])],
  ["an unknown variable", resolve([fromEnvironment({ MILLRACE_PROT: "1" })]).problems],
  ["an unknown key", written({ "segment.byts": 1 })],
  ["a flag given twice", refusals(["--port=1", "--port=2"])],
  ["a flag without its value", refusals(["--port"])],
  ["a topic without partitions", written({ topics: { orders: { visibility: "durable" } } })],
  ["a key that no single topic has", written({ topics: { orders: { partitions: 1, port: 1 } } })],
  ["a wrong value of one topic", written({ topics: { orders: { partitions: 1, "segment.bytes": "1" } } })],
  ["a name that is none", written({ topics: { "a b": { partitions: 1 } } })],
  ["a topic named twice", refusals(["--topics=orders:1,orders:2"])],
  ["names that differ by case", refusals(["--topics=orders:1,Orders:1"])],
  ["answers smaller than requests", refusals(["--fetch-max-bytes=1MiB"])],
  ["a connection's queue smaller than a request", refusals(["--connection-queued-bytes-max=4MiB"])],
  ["all queues smaller than one", refusals(["--queued-bytes-max=8MiB"])],
  ["segments smaller than requests", refusals(["--segment-bytes=4MiB"])],
  ["segments without an index", refusals(["--index-interval-bytes=128MiB"])],
  ["one port for both", refusals(["--ops-port=4710"])],
];

function refusals(flags: readonly string[]): readonly string[] | undefined {
  return resolve([fromFlags(flags)]).problems;
}

function written(document: Record<string, unknown>): readonly string[] | undefined {
  return resolve([fromDocument(document, "./millrace.toml")]).problems;
}

const only = (problems: readonly string[] | undefined, what: string): string => {
  expect([what, problems]).toEqual([what, [expect.any(String)]]);
  return problems?.[0] ?? "";
};

it("every setting's refusal names its key, what it got, where that was written and what it takes", () => {
  for (const key of settingKeys) {
    const refusal = only(refusals([`${flagOf(key)}=${wrong[key]}`]), key);
    const { takes } = factsOf(rowOf(key).kind);
    expect(refusal).toBe(`${key}: got ${JSON.stringify(wrong[key])} (flag ${flagOf(key)}); takes ${takes}`);
  }
});

it("the page of the refusals says what they say", async () => {
  const path = join(packageRoot(), "docs/settings-refusals.md");
  const parts = /^([\s\S]*<!-- made[^\n]*-->\n)[\s\S]*(<!-- end -->\n[\s\S]*)$/.exec(readFileSync(path, "utf8"));
  if (parts === null) throw new Error(`${path} has no place for the refusals`);
  const each = settingKeys.map((key) => only(refusals([`${flagOf(key)}=${wrong[key]}`]), key));
  const together = others.map(([what, problems]) => `${what}:\n\n\`\`\`\n${only(problems, what)}\n\`\`\`\n`);
  const text = `\n## Each setting\n\n\`\`\`\n${each.join("\n")}\n\`\`\`\n\n## Names, and settings together\n\n${together.join("\n")}\n`;
  await expect(`${parts[1]}${text}${parts[2]}`).toMatchFileSnapshot(path);
});
