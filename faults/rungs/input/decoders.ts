// Runs the program that tries the decoders, in a process of its own: one that loops or takes all memory is then seen from here. It is
// bundled with the product's sources, which may be a mutated copy.

import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Stage } from "../../lib/rung.js";
import { sourcesOf } from "./fuzz.js";

const SILENT_MS = 30_000;
const HEAP_MIB = 192;

export interface Tried {
  readonly counts: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
}

/** What the program says: a line of it. */
export type Said = { readonly decoder: string; readonly cases: number } | { readonly wrong: string };

async function bundled(stage: Stage): Promise<string> {
  const { build } = await import("esbuild");
  const outfile = join(sourcesOf(stage), ".cache", "decoders.mjs");
  const source = join(sourcesOf(stage), "src");
  const ours = join(stage.root, "faults");
  await build({
    absWorkingDir: stage.root,
    entryPoints: [join(ours, "rungs", "input", "decoders", "program.ts")],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    logLevel: "error",
    plugins: [
      {
        name: "sources of the product",
        setup: ({ onResolve }) => {
          onResolve({ filter: /^(\.\.\/)+src\// }, ({ path, importer }) =>
            importer.startsWith(ours)
              ? { path: join(source, path.replace(/^(\.\.\/)+src\//, "").replace(/\.js$/, ".ts")) }
              : undefined,
          );
        },
      },
    ],
  });
  return outfile;
}

export async function tryDecoders(stage: Stage, until: number): Promise<Tried> {
  const program = await bundled(stage);
  const seconds = Math.max(2, (until - performance.now()) / 1000);
  const args = [`--max-old-space-size=${HEAP_MIB}`, program, String(stage.seed), String(seconds), stage.directory];
  const child = spawn(process.execPath, args, { cwd: dirname(program), stdio: ["ignore", "pipe", "pipe"] });
  const wrong: string[] = [];
  const cases = new Map<string, number>();
  let heard = performance.now();
  let doing = "its start";
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-4000);
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    heard = performance.now();
    const said = JSON.parse(line) as Said;
    if ("wrong" in said) wrong.push(said.wrong);
    else {
      doing = said.decoder;
      cases.set(said.decoder, said.cases);
    }
  });
  const watch = setInterval(() => {
    if (performance.now() - heard < SILENT_MS) return;
    wrong.push(`${doing} hangs: nothing was heard of it for ${SILENT_MS} ms`);
    child.kill("SIGKILL");
  }, 1_000);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  clearInterval(watch);
  if (code !== 0 && wrong.length === 0) wrong.push(`the decoders' process ended with ${code} in ${doing}: ${stderr}`);
  const all = [...cases.values()].reduce((sum, each) => sum + each, 0);
  return { counts: { decoders: cases.size, "cases of decoders": all }, wrong };
}
