// A process that is killed by SIGKILL while it works on a partition.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Moments to kill it at: so long after it has said this line. */
export interface KillAt {
  readonly line: string;
  readonly thenMs: number;
}

/** A program of `body` (TypeScript, with `open`, `payload`, `say` and the `names` in scope), for `runUntilKilled`. */
export async function victim(body: string, names: Readonly<Record<string, unknown>>): Promise<string> {
  // Inside the checkout, so that the addon and the packages are found.
  mkdirSync(join(root, ".cache"), { recursive: true });
  const dir = mkdtempSync(join(root, ".cache", "victim-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const outfile = join(dir, "victim.mjs");
  await build({
    stdin: { contents: program(body, names), loader: "ts", resolveDir: join(root, "test/storage") },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["node-gyp-build", "vitest"],
    logLevel: "warning",
  });
  return outfile;
}

/** Runs a victim until it is killed. Resolves to the lines that it said. */
export async function runUntilKilled(outfile: string, at: KillAt): Promise<string[]> {
  const child = spawn(process.execPath, [outfile], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once("exit", (_, signal) => resolve(signal)));
  const lines: string[] = [];
  const reader = createInterface(child.stdout);
  const closed = new Promise<void>((resolve) => reader.once("close", resolve));
  reader.on("line", (line) => {
    lines.push(line);
    if (line === at.line) setTimeout(() => child.kill("SIGKILL"), at.thenMs);
  });
  const signal = await ended;
  await closed;
  if (signal !== "SIGKILL") throw new Error(`the victim ended by itself: ${lines.slice(-3).join(", ")}`);
  return lines;
}

function program(body: string, names: Readonly<Record<string, unknown>>): string {
  const constants = Object.entries(names).map(([name, value]) => `const ${name} = ${JSON.stringify(value)};`);
  return `
    import { writeSync } from "node:fs";
    import { open } from "./support/opened.js";
    import { payload } from "./support/records.js";
    // At once and unbuffered: what was said before the kill is said.
    const say = (line: string) => writeSync(1, line + "\\n");
    ${constants.join("\n")}
    ${body}`;
}
