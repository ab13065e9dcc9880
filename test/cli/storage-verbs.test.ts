// `millrace verify` and `millrace dump` on directories that a real broker left.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { runBroker, testSettings } from "../support/broker.js";
import { millrace } from "../support/cli.js";
import { tempDir } from "../support/tmp.js";

const LINES = Array.from({ length: 3000 }, (_, i) => `line ${i} ${"x".repeat(i % 100)}`);

/** A data directory with three segments or more in orders-0, left by a clean stop. */
async function left(): Promise<{ dir: string; partition: string; segments: string[] }> {
  const dir = tempDir("left");
  const broker = await runBroker({
    ...testSettings(dir),
    "segment.bytes": "64KiB",
    "max.frame.bytes": "32KiB",
    "fetch.max.bytes": "1MiB",
  });
  const args = ["produce", "orders", "--broker", `127.0.0.1:${broker.port}`, "--batch-bytes", "8KiB"];
  const { code, stderr } = await millrace(args, { stdin: [`${LINES.join("\n")}\n`] });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  await broker.stop();
  const partition = join(dir, "orders-0");
  const segments = readdirSync(partition)
    .filter((name) => name.endsWith(".log"))
    .sort()
    .map((name) => join(partition, name));
  expect(segments.length).toBeGreaterThan(2);
  return { dir, partition, segments };
}

function flipBit(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] ^= 1;
  writeFileSync(path, bytes);
}

describe("verify", () => {
  it("finds nothing wrong where nothing is, in a data directory or one partition", async () => {
    const { dir, partition, segments } = await left();
    for (const path of [dir, partition]) {
      const { code, stdout, stderr } = await millrace(["verify", path]);
      expect(code).toBe(0);
      for (const segment of segments) expect(stdout).toContain(`ok       ${segment}: `);
      expect(stderr).toContain("without the lock");
      expect(stderr).toContain(`${segments.length} segments, 3000 records, 0 damages`);
    }
  });

  it("counts one as one", async () => {
    const dir = tempDir("one");
    const broker = await runBroker(testSettings(dir));
    const args = ["produce", "orders", "--broker", `127.0.0.1:${broker.port}`];
    expect((await millrace(args, { stdin: ["a\n"] })).code).toBe(0);
    await broker.stop();
    const { stdout, stderr } = await millrace(["verify", dir]);
    expect(stdout).toMatch(/: 1 record, 9 bytes\n$/);
    expect(stderr).toContain("1 partition, 1 segment, 1 record, 0 damages");
  });

  it("S15 names the file, the position and the offset of a flipped bit, exits 1, and says so again after a repair", async () => {
    const { dir, segments } = await left();
    const dump = await millrace(["dump", segments[1], "--json"]);
    const record = dump.stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line))
      .filter(({ kind }) => kind === "record")[10];
    flipBit(segments[1], record.position + 8);
    const { code, stdout } = await millrace(["verify", dir]);
    expect(code).toBe(1);
    expect(stdout).toContain(`DAMAGED  ${segments[1]} position ${record.position} offset ${record.offset}: `);
    const json = await millrace(["verify", dir, "--json"]);
    const findings = json.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(findings).toContainEqual(
      expect.objectContaining({ kind: "damage", path: segments[1], offset: record.offset }),
    );
    const repaired = await millrace(["verify", dir, "--repair"]);
    expect(repaired.code).toBe(1);
    expect(repaired.stderr).toContain("left after the repair: 1 damage");
  });

  it("repairs what keeps a partition from opening", async () => {
    const { dir, partition } = await left();
    const checkpoint = join(partition, "checkpoint");
    writeFileSync(checkpoint, Buffer.alloc(readFileSync(checkpoint).length, 0xff));
    const before = await millrace(["verify", dir]);
    expect(before.code).toBe(1);
    expect(before.stdout).toContain(`DAMAGED  ${checkpoint}`);
    const repaired = await millrace(["verify", dir, "--repair"]);
    expect(repaired.stdout).toMatch(
      /repaired .*checkpoint: written: durable up to offset 3000, epoch \d+ \(the minutes since 1970/,
    );
    expect(repaired.code).toBe(0);
    expect((await millrace(["verify", dir])).code).toBe(0);
  });

  it("does not repair under a running broker", async () => {
    const dir = tempDir("running");
    await runBroker(testSettings(dir));
    const { code, stderr } = await millrace(["verify", dir, "--repair"]);
    expect(code).toBe(1);
    expect(stderr).toContain("stop that process first");
    expect((await millrace(["verify", dir])).code).toBe(0);
  });

  it("says that there is nothing to verify", async () => {
    const empty = await millrace(["verify", tempDir("empty")]);
    expect(empty.code).toBe(1);
    expect(empty.stderr).toContain("there is no partition in");
    const missing = await millrace(["verify", "/no/such/directory"]);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain("there is no /no/such/directory: expected a broker's data directory");
    const file = await millrace(["verify", fileURLToPath(import.meta.url)]);
    expect(file.code).toBe(1);
    expect(file.stderr).toContain("is no directory: expected a broker's data directory");
  });
});

describe("dump", () => {
  it("shows every record of a partition in order, and where each segment ends", async () => {
    const { partition, segments } = await left();
    const { code, stdout } = await millrace(["dump", partition, "--head", "1000"]);
    expect(code).toBe(0);
    const records = stdout.split("\n").filter((line) => /^ +\d/.test(line));
    expect(records.map((line) => Number(line.trim().split(/ +/)[0]))).toEqual(LINES.map((_, i) => i));
    records.forEach((line, i) => {
      expect(line.endsWith(`  ${LINES[i]}`)).toBe(true);
    });
    expect(stdout.match(/^# end at offset /gm)).toHaveLength(segments.length);
  });

  it("marks a sum that does not match, cuts long payloads and escapes what is no text", async () => {
    const { segments } = await left();
    flipBit(segments[0], 8);
    const { stdout } = await millrace(["dump", segments[0], "--head", "3"]);
    const [first, second] = stdout.split("\n").filter((line) => /^ +\d/.test(line));
    expect(first).toMatch(/^ +0 +0 +7 {2}[0-9a-f]{8}! {2}min…$/);
    expect(second).toMatch(/^ +1 +15 +8 {2}[0-9a-f]{8} {3}lin…$/);
  });

  it("says that something is not there, or is nothing it can show", async () => {
    const missing = await millrace(["dump", "/no/such/segment"]);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain("there is no /no/such/segment: expected a segment");
    const path = join(tempDir("other"), "notes.txt");
    writeFileSync(path, "no record");
    const other = await millrace(["dump", path]);
    expect(other.code).toBe(1);
    expect(other.stderr).toContain(`if ${path} is a segment or a partition, name its record format`);
    expect(other.stderr).toContain("`--format crc32c` or `--format plain` names it");
  });

  it("ends quietly when nobody reads on", async () => {
    const { partition } = await left();
    const { code, stderr } = await millrace(["dump", partition, "--head", "1000"], { closeStdoutAfter: 100 });
    expect(code).toBe(0);
    expect(stderr).toMatch(/^millrace: reading without the lock[^\n]*\n$/);
  });
});
