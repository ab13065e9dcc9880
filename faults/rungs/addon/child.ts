// Runs a program of the rung in a process of its own, with or without the sanitizers' library before everything else.

import { spawn } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Stage } from "../../lib/rung.js";
import type { Job, Report } from "./job.js";
import { leaksOf, type Sanitizer } from "./sanitized.js";

export const PROGRAMS = ["states", "calls", "workers"] as const;
export type Program = (typeof PROGRAMS)[number];

/** Beyond its own time: a start under a sanitizer, and what it waits for. */
const MORE_MS = 120_000;
const SHOWN = 3000;

const LEAKS = "ERROR: LeakSanitizer: detected memory leaks";
const reportIn = (stdout: string): Report => JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Report;

/** Either its report, or how it ended without one. */
export type Ran = Report | { readonly crashed: string };

export async function runProgram(
  { root, product, directory, seed }: Stage,
  program: Program,
  seconds: number,
  sanitizer?: Sanitizer,
): Promise<Ran> {
  const place = join(directory, sanitizer === undefined ? program : `${program}-sanitized`);
  await mkdir(place, { recursive: true });
  const job: Job = { addon: sanitizer?.addon ?? product.addon, directory: place, seed, seconds };
  const file = join(root, ".cache/faults/js/rungs/addon/programs", `${program}.js`);
  const child = spawn(process.execPath, ["--expose-gc", file, JSON.stringify(job)], {
    cwd: place,
    env: { ...process.env, ...sanitizer?.environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  }
  const late = setTimeout(() => child.kill("SIGKILL"), seconds * 1000 + MORE_MS);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (...ended) => resolve(ended));
  });
  clearTimeout(late);
  const onlyLeaks = sanitizer !== undefined && !said.stderr.includes("ERROR: AddressSanitizer") && said.stdout !== "";
  if (code === 0 || (onlyLeaks && said.stderr.includes(LEAKS))) {
    const report = reportIn(said.stdout);
    const leaks = leaksOf(said.stderr).map((leak) => leak.slice(0, SHOWN));
    return { ...report, wrong: [...report.wrong, ...leaks] };
  }
  const last = await readFile(join(place, "last-call"), "utf8").catch(() => "");
  const how = `ended with ${signal ?? code}${last === "" ? "" : ` in call ${last.trim()}`}`;
  return { crashed: `${how}: ${said.stderr.slice(0, SHOWN)}` };
}
