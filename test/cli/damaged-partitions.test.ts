// What the command says about a broker's directory in which something is damaged: each thing is named, the rest is looked at, and
// whoever produces to it or reads from it is told what is true.

import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runBroker, testSettings } from "../support/broker.js";
import { millrace } from "../support/cli.js";
import { tempDir } from "../support/tmp.js";

const LINES = Array.from({ length: 3000 }, (_, i) => `line ${i} ${"x".repeat(i % 100)}`);

const settings = (dir: string) => ({
  ...testSettings(dir),
  topics: "orders:3",
  "segment.bytes": "64KiB",
  "max.frame.bytes": "32KiB",
  "fetch.max.bytes": "1MiB",
});

interface Left {
  readonly dir: string;
  readonly partition: (number: number) => string;
  readonly segments: (number: number) => string[];
}

/** Three partitions with 3000 records in orders-0 and orders-2, left by a clean stop. */
async function left(): Promise<Left> {
  const dir = tempDir("left");
  const broker = await runBroker(settings(dir));
  for (const partition of ["0", "2"]) {
    const args = ["produce", "orders", "--partition", partition, "--broker", `127.0.0.1:${broker.port}`];
    const { code } = await millrace([...args, "--batch-bytes", "8KiB"], { stdin: [`${LINES.join("\n")}\n`] });
    expect(code).toBe(0);
  }
  await broker.stop();
  const partition = (number: number): string => join(dir, `orders-${number}`);
  const segments = (number: number): string[] =>
    readdirSync(partition(number))
      .filter((name) => name.endsWith(".log"))
      .sort()
      .map((name) => join(partition(number), name));
  expect(segments(0).length).toBeGreaterThan(2);
  return { dir, partition, segments };
}

function overwrite(path: string, at: number, bytes: readonly number[]): void {
  const fd = openSync(path, "r+");
  writeSync(fd, Uint8Array.from(bytes), 0, bytes.length, at);
  closeSync(fd);
}

function makeDirectory(path: string): void {
  rmSync(path);
  mkdirSync(path);
}

describe("a file that cannot be read", () => {
  it("is named by verify, which checks the rest, exits 1, and repairs other partitions", async () => {
    const { dir, partition, segments } = await left();
    const [unreadable] = segments(0);
    makeDirectory(unreadable);
    writeFileSync(join(partition(2), "checkpoint"), Buffer.alloc(8192, 0xff));
    const { code, stdout, stderr } = await millrace(["verify", dir]);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`DAMAGED  ${unreadable}: it cannot be read: .*EISDIR`));
    expect(stdout).toContain(`DAMAGED  ${join(partition(2), "checkpoint")}`);
    for (const path of [...segments(0).slice(1), ...segments(2)]) expect(stdout).toContain(`ok       ${path}: `);
    expect(stderr).toContain("2 damages");
    const repaired = await millrace(["verify", dir, "--repair"]);
    expect(repaired.code).toBe(1);
    expect(repaired.stdout).toContain(`NOT REPAIRED ${unreadable}: it cannot be read`);
    expect(repaired.stdout).toContain(`repaired ${join(partition(2), "checkpoint")}`);
    expect((await millrace(["verify", partition(2)])).code).toBe(0);
  });

  it("is named by dump, which shows the rest and exits 1", async () => {
    const { dir, partition, segments } = await left();
    makeDirectory(segments(0)[1]);
    rmSync(join(partition(1), "partition.json"));
    const { code, stdout, stderr } = await millrace(["dump", dir]);
    expect(code).toBe(1);
    expect(stdout).toContain(`# ${segments(0)[1]} cannot be read: `);
    expect(stdout).toContain(`# ${partition(1)} cannot be read: no partition.json`);
    expect(stdout).toContain("line 2999 ");
    for (const path of segments(2)) expect(stdout).toContain(`# ${path}: from offset`);
    expect(stderr).toContain("2 files could not be read");
  });
});

it("verify does not call a segment sound directly after it named its damage", async () => {
  const { partition, segments } = await left();
  const [first] = segments(0);
  overwrite(first, 0, [0x40]);
  const { stdout } = await millrace(["verify", partition(0)]);
  expect(stdout).toContain(`DAMAGED  ${first} position 0 offset 0: `);
  expect(stdout).toContain(`in part  ${first}: 0 records, 0 bytes`);
  expect(stdout).not.toContain(`ok       ${first}`);
});

it.each([
  ["", "it is empty"],
  ["\u0000\u0000", "it has"],
  ["{}", "it has"],
])("a millrace.json of %j is damage to verify, and a start says what to do", async (text, why) => {
  const { dir } = await left();
  const file = join(dir, "millrace.json");
  writeFileSync(file, text);
  const { code, stdout } = await millrace(["verify", dir]);
  expect(code).toBe(1);
  expect(stdout).toContain(`DAMAGED  ${file}: names no layout: ${why}`);
  await expect(runBroker(settings(dir))).rejects.toThrow(/names no layout: .* write \{"layout": 1\} into it/);
  const repaired = await millrace(["verify", dir, "--repair"]);
  expect(repaired.code).toBe(1);
  expect(repaired.stdout).toContain(`NOT REPAIRED ${file}`);
  writeFileSync(file, '{"layout": 1}');
  expect((await millrace(["verify", dir])).code).toBe(0);
  await (await runBroker(settings(dir))).stop();
});

it("a partition whose directory is gone is damage to verify, in the words of a start, and nothing that a repair could make", async () => {
  const { dir, partition } = await left();
  const [gone, later] = [partition(0), partition(1)];
  expect([existsSync(gone), existsSync(later)]).toEqual([true, true]);
  rmSync(gone, { recursive: true });
  for (const args of [[], ["--repair"]]) {
    const { code, stdout } = await millrace(["verify", dir, ...args]);
    expect(code).toBe(1);
    expect(stdout).toContain(
      `DAMAGED  ${gone}: it is missing and later partitions are there: put it back, or make an empty directory`,
    );
    expect(stdout.includes(`NOT REPAIRED ${gone}`)).toBe(args.length > 0);
  }
  expect(existsSync(gone)).toBe(false);
  expect((await millrace(["verify", later])).code).toBe(0);
  mkdirSync(gone);
  await (await runBroker(settings(dir))).stop();
  expect((await millrace(["verify", dir])).code).toBe(0);
});

describe("with a broker that runs", () => {
  it("a read behind a broken length is told where to look, and the broker names the place", async () => {
    const { dir, segments } = await left();
    overwrite(segments(0)[0], 0, [0x40]);
    const broker = await runBroker(settings(dir));
    const address = `127.0.0.1:${broker.port}`;
    const { code, stderr } = await millrace([
      ...["consume", "orders", "--partition", "0", "--from", "5", "--until-end", "--broker", address],
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain("what lies there cannot be read; the broker's log says which");
    expect(stderr).toContain("`millrace verify DIR` on the broker's machine");
    await broker.stop();
  });

  it("a line that was sent to a partition that did not open is not in the log, and that is said", async () => {
    const { dir, partition } = await left();
    rmSync(join(partition(0), "partition.json"));
    const broker = await runBroker(settings(dir));
    const args = ["produce", "orders", "--partition", "0", "--broker", `127.0.0.1:${broker.port}`];
    const { code, stderr } = await millrace(args, { stdin: ["a\n"] });
    expect(code).toBe(1);
    expect(stderr).toContain("orders-0: its line 1: refused, not in the log");
    expect(stderr).not.toContain("may be in the log or not");
    await broker.stop();
  });
});
