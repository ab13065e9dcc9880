// The README's tour is true: its commands print what it says they print, and its program runs.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { root } from "../rules/sources.js";
import { type BrokerProcess, spawnReady } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";

const readme = readFileSync(join(root, "README.md"), "utf8");
const tour = readme.slice(readme.indexOf("## A minute's tour"), readme.indexOf("## What is promised"));

/** Commands of the tour's shell blocks with the lines that follow them. */
function commands(): { command: string; prints: string }[] {
  const blocks = [...tour.matchAll(/```\n(.*?)```/gs)].map(([, block = ""]) => block.trimEnd());
  return blocks
    .flatMap((block) => block.split(/^\$ /m).slice(1))
    .map((entry) => {
      const [command = "", ...lines] = entry.trimEnd().split("\n");
      return { command, prints: lines.join("\n") };
    });
}

const settings = (dataDir: string) => ({
  "data.dir": dataDir,
  topics: "orders:1",
  port: 0,
  "ops.enabled": false,
  "disk.reserve.bytes": 0,
});

/** A command that stays, as a shell runs it in the background: what it prints comes between the output of the others. */
class Background {
  private text = "";
  private shown = 0;

  constructor(
    child: ChildProcess,
    private readonly port: number,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.text += chunk.toString();
      });
    }
    onTestFinished(() => void child.kill("SIGKILL"));
  }

  /** Waits until it has printed these lines, and nothing else, since the last time. */
  async prints(lines: readonly string[]): Promise<void> {
    const text = lines.map((line) => `${line.replaceAll(":4710", `:${this.port}`)}\n`).join("");
    await expect.poll(() => this.text.slice(this.shown), { timeout: 10_000 }).toBe(text);
    this.shown = this.text.length;
  }
}

it("the commands print what the tour says", async () => {
  const dataDir = join(tempDir("tour"), "data");
  let broker: BrokerProcess | undefined;
  let background: Background | undefined;
  let compared = 0;
  const script = (command: string) =>
    `millrace() { ${JSON.stringify(process.execPath)} ${join(root, "dist/cli.js")} "$@"; }\n${command}`;
  const environment = () => ({ PATH: process.env.PATH, MILLRACE_BROKER: `127.0.0.1:${broker?.port}` });
  for (const { command, prints } of commands()) {
    const lines = prints.split("\n").filter((line) => !/^(|…|millrace ready .*)$/.test(line));
    if (command.startsWith("alias ")) continue;
    if (command.startsWith("npm start")) {
      expect(command).toBe("npm start -- --topics orders:1 &");
      broker = await spawnReady({ ...settings(dataDir), port: broker?.port ?? 0 });
    } else if (command.startsWith("kill -9")) {
      broker?.kill("SIGKILL");
      await broker?.exited;
    } else if (command.endsWith(" &")) {
      const exec = command
        .replace(/ &$/, "")
        .replace(/^millrace/, `exec ${process.execPath} ${join(root, "dist/cli.js")}`);
      background = new Background(spawn("sh", ["-c", exec], { cwd: root, env: environment() }), broker?.port ?? 0);
    } else {
      const run = { cwd: root, env: environment(), encoding: "utf8" } as const;
      const printed = execFileSync("sh", ["-c", script(command)], run).trimEnd();
      compared++;
      // A producer says nothing: what stands below it is what the consumer beside it printed.
      if (printed !== "" || background === undefined) {
        expect(printed, command).toBe(prints);
        continue;
      }
    }
    if (background === undefined) expect(lines, command).toEqual([]);
    else await background.prints(lines);
  }
  expect([compared, background === undefined]).toEqual([6, false]);
});

it("the program runs as it stands, on what the package exports", async () => {
  const [, program = ""] = /```ts\n(.*?)```/s.exec(tour) ?? [];
  const broker = await spawnReady(settings(join(tempDir("tour"), "data")));
  // Inside of the package, so that it finds "millrace/client" as a program with millrace installed does.
  const dir = mkdtempSync(join(root, ".cache/readme-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  expect(program).toContain('"127.0.0.1:4710"');
  writeFileSync(join(dir, "program.mjs"), program.replace("127.0.0.1:4710", `127.0.0.1:${broker.port}`));
  const printed = execFileSync(process.execPath, [join(dir, "program.mjs")], { cwd: dir, encoding: "utf8" });
  expect(printed).toBe("first\nsecond\n");
});
