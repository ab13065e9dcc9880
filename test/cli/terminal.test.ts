// What a person sees who runs the command in a terminal: progress that fits the window and goes away, colours, ^C.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type BrokerProcess, spawnReady, testSettings } from "../support/broker.js";
import { cliProgram } from "../support/cli.js";
import { hasTerminals, Terminal, type TerminalOptions } from "../support/terminal.js";
import { tempDir } from "../support/tmp.js";

const shell = (broker: BrokerProcess, script: string, options: TerminalOptions = {}): Terminal => {
  const millrace = `millrace() { "${process.execPath}" "${cliProgram()}" "$@"; }`;
  const environment = { MILLRACE_BROKER: `127.0.0.1:${broker.port}`, ...options.environment };
  return new Terminal(["bash", "-c", `${millrace}\n${script}`], { ...options, environment });
};

const broker = (): Promise<BrokerProcess> => spawnReady(testSettings(tempDir("data")));

/** What each rewriting of the progress line put there. */
const progressLines = (shown: string): string[] =>
  shown
    .split("\r\x1b[K")
    .slice(1)
    .map((line) => line.split("\r\n", 1)[0] ?? "");

describe.skipIf(!hasTerminals)("in a terminal", () => {
  it("produce shows how far it is, also inside of one large read, never wider than the window, and then what it did", async () => {
    const running = await broker();
    const input = join(tempDir("input"), "in.log");
    writeFileSync(input, Array.from({ length: 3000 }, (_, i) => `line ${i}\n`).join(""));
    const terminal = shell(running, `millrace produce orders --rate 3000 < ${input}`, { columns: 40 });
    expect(await terminal.exited).toBe(0);
    const lines = progressLines(terminal.shown);
    const last = lines.pop() ?? "";
    expect(last).toMatch(/^acknowledged \(forced\): 3,000 records in \d\.\d s /);
    expect(lines.length).toBeGreaterThan(4);
    for (const line of lines) expect(line).toMatch(/^\[#*\.*\] [\d,]+ record/);
    expect(Math.max(...lines.map((line) => line.length))).toBe(39);
    const bars = lines.map((line) => line.split("#").length);
    expect(bars.at(-1)).toBeGreaterThan((bars[0] ?? 0) + 5);
  });

  it("shows no progress where the data goes to the same terminal, and some where it goes to a file", async () => {
    const running = await broker();
    const script = [
      "seq 100000 | millrace produce orders 2>/dev/null",
      "millrace consume orders --until-end --max-records 3",
      "echo ---",
      "millrace consume orders --until-end > /dev/null",
    ];
    const terminal = shell(running, script.join("\n"));
    expect(await terminal.exited).toBe(0);
    const [data, progress = ""] = terminal.shown.split("---\r\n");
    expect(data).toBe("1\r\n2\r\n3\r\n");
    expect(progressLines(progress).at(-1)).toMatch(/^read 100,000 records in /);
  });

  it("verify, dump and backup show how far they are where their data goes elsewhere", async () => {
    const dataDir = tempDir("data");
    const running = await spawnReady({ ...testSettings(dataDir), "segment.bytes": "9MiB" });
    const filled = shell(running, "seq 700000 | millrace produce orders 2>/dev/null");
    expect(await filled.exited).toBe(0);
    const copy = join(tempDir("copy"), "copy");
    const ends: readonly (readonly [string, RegExp])[] = [
      [`verify ${dataDir}`, /millrace: 1 partition, \d segments, 700000 records, 0 damages/],
      [`dump ${dataDir}`, /shown: 700,000 records in /],
      [`backup ${copy} --copy --data-dir ${dataDir}`, /forced and complete: 1 partition in /],
    ];
    for (const [verb, end] of ends) {
      const terminal = shell(running, `millrace ${verb} > /dev/null`);
      expect(await terminal.exited).toBe(0);
      expect(terminal.shown).toMatch(end);
      if (verb.startsWith("dump")) expect(progressLines(terminal.shown)[0]).toMatch(/^\[#*\.*\] [\d,]+ records in /);
      const quiet = shell(
        running,
        `millrace ${verb.replace("copy ", "copy2 ")} > /dev/null 2>${copy}.err; cat ${copy}.err`,
      );
      await quiet.exited;
      expect(quiet.shown).not.toContain("\x1b");
    }
  }, 60_000);

  it("^C ends a follower with what it printed, and a producer with its account below the progress", async () => {
    const running = await broker();
    const follower = shell(running, "echo first | millrace produce orders; millrace consume orders; echo code $?");
    await expect.poll(() => follower.shown).toContain("first");
    follower.type("\x03");
    await follower.exited;
    expect(follower.shown).toContain("millrace: stopped by SIGINT\r\n  printed 1 record\r\n");

    const producer = shell(running, "trap : INT; yes | millrace produce orders --rate 500; echo code $?");
    await expect.poll(() => producer.shown, { timeout: 5000 }).toContain("records in");
    producer.type("\x03");
    await producer.exited;
    expect(producer.shown).toContain("\r\x1b[Kmillrace: stopped by SIGINT\r\n  acknowledged ");
    expect(producer.shown).toContain("code 130");
  });

  it("colours what verify says, unless NO_COLOR says otherwise or a program reads it", async () => {
    const dir = join(tempDir("damaged"), "orders-0");
    mkdirSync(dir);
    writeFileSync(join(dir, "partition.json"), "{}");
    const running = await broker();
    const verify = async (pipe: string, environment: Readonly<Record<string, string>> = {}) => {
      const terminal = shell(running, `millrace verify ${dir} ${pipe}`, { environment, columns: 200 });
      await terminal.exited;
      return terminal.shown;
    };
    expect(await verify("")).toContain("\x1b[31mDAMAGED\x1b[0m ");
    for (const plain of [
      await verify("", { NO_COLOR: "1" }),
      await verify("| cat"),
      await verify("", { TERM: "dumb" }),
    ]) {
      expect(plain).toContain("DAMAGED ");
      // A slow machine shows progress, too, which clears its line.
      expect(plain.replaceAll("\x1b[K", "")).not.toContain("\x1b[");
    }
  });

  it("wraps its help to the window", async () => {
    const running = await broker();
    const widths = await Promise.all(
      [80, 140].map(async (columns) => {
        const terminal = shell(running, "millrace produce --help", { columns });
        await terminal.exited;
        const [, options = ""] = terminal.shown.split("Options:");
        return Math.max(...(options.split("Examples:")[0] ?? "").split("\r\n").map((line) => line.length));
      }),
    );
    expect(widths[0]).toBeLessThanOrEqual(80);
    expect(widths[1]).toBeGreaterThan(80);
  });
});
