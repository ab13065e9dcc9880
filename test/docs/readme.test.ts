// The README's tour is true: its commands print what it says they print, and its program runs.

import { execFileSync } from "node:child_process";
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

it("the commands print what the tour says", async () => {
  const dataDir = join(tempDir("tour"), "data");
  let broker: BrokerProcess | undefined;
  let compared = 0;
  for (const { command, prints } of commands()) {
    if (command.startsWith("alias ")) continue;
    if (command.startsWith("npm start")) {
      expect(command).toBe("npm start -- --topics orders:1 &");
      broker = await spawnReady(settings(dataDir));
    } else if (command.startsWith("kill -9")) {
      broker?.kill("SIGKILL");
      await broker?.exited;
    } else {
      const script = `millrace() { ${JSON.stringify(process.execPath)} ${join(root, "dist/cli.js")} "$@"; }\n${command}`;
      const env = { PATH: process.env.PATH, MILLRACE_BROKER: `127.0.0.1:${broker?.port}` };
      const printed = execFileSync("sh", ["-c", script], { cwd: root, env, encoding: "utf8" });
      expect(printed.trimEnd(), command).toBe(prints);
      compared += 1;
    }
  }
  expect(compared).toBe(4);
});

it("the program runs as it stands, on what the package exports", async () => {
  const [, program = ""] = /```ts\n(.*?)```/s.exec(tour) ?? [];
  const broker = await spawnReady(settings(join(tempDir("tour"), "data")));
  // Inside of the package, so that it finds "millrace/client" as a program with millrace installed does.
  const dir = mkdtempSync(join(root, ".cache/readme-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  expect(program).toContain('"127.0.0.1:4710"');
  writeFileSync(join(dir, "program.mjs"), program.replace("127.0.0.1:4710", `127.0.0.1:${broker.port}`));
  const printed = execFileSync(process.execPath, [join(dir, "program.mjs")], { encoding: "utf8" });
  expect(printed).toBe("first\nsecond\n");
});
