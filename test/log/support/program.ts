// Runs a program in a process of its own that imports the package by its name, as people's programs do.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** `source` is TypeScript; `cwd` is where it runs. */
export async function runProgram(source: string, cwd: string, timeoutMs = 15_000): Promise<Outcome> {
  // Inside the checkout, so that what the package itself imports is found.
  mkdirSync(join(root, ".cache"), { recursive: true });
  const dir = mkdtempSync(join(root, ".cache", "program-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const outfile = join(dir, "program.mjs");
  await build({
    stdin: { contents: source, loader: "ts", resolveDir: root },
    alias: { millrace: join(root, "src/index.ts") },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    logLevel: "warning",
  });
  const began = performance.now();
  const child = spawn(process.execPath, [outfile], { cwd, stdio: ["ignore", "pipe", "pipe"], timeout: timeoutMs });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, stdout, stderr, ms: performance.now() - began };
}
