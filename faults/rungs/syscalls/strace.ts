// Whether the shim sees what the kernel sees: the same run, counted by both.

import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CALLS } from "./calls.js";
import type { CaseResult } from "./case.js";

/** Of one kind, a call or two while a connection is set up or taken down may be on a socket that is no longer bound. */
const SLACK = 2;

export async function compareWithStrace(
  directory: string,
  run: (wrapper: readonly string[]) => Promise<CaseResult>,
): Promise<{ readonly skipped?: string; readonly wrong?: readonly string[] }> {
  const names = CALLS.flatMap(({ strace }) => strace).filter((name) => name !== "open");
  const works = spawnSync("strace", ["-f", "-qq", "-yy", "-o", "/dev/null", "-e", `trace=${names.join(",")}`, "true"]);
  if (works.status !== 0) return { skipped: "strace is not here, or too old" };
  const log = join(directory, "strace.log");
  // -D: the broker is the child, and gets the signals.
  const wrapper = ["strace", "-D", "-f", "-qq", "-yy", "-s", "0", "-o", log, "-e", `trace=${names.join(",")}`];
  const { counts, wrong } = await run(wrapper);
  if (wrong.length > 0) return { wrong: wrong.map((what) => `under strace: ${what}`) };
  const root = join(directory, "strace", "data");
  const seen = new Map<string, number>();
  for (const line of (await readFile(log, "utf8")).split("\n")) {
    const name = callOf(line, root);
    if (name !== undefined) seen.set(name, (seen.get(name) ?? 0) + 1);
  }
  return {
    wrong: CALLS.flatMap(({ name, strace }, index) => {
      const kernel = seen.get(name) ?? 0;
      if (strace.length === 0 || Math.abs(counts[index] - kernel) <= SLACK) return [];
      return [`the shim counted ${counts[index]} calls of ${name}, strace ${kernel}`];
    }),
  };
}

/** Which of our calls a line tells of. */
function callOf(line: string, root: string): string | undefined {
  const [, call, rest] = /^\d+ +(\w+)\((.*)$/.exec(line) ?? [];
  if (call === undefined) return undefined;
  const entry = CALLS.find(({ strace }) => strace.includes(call));
  if (entry === undefined) return undefined;
  if (entry.name === "msync") return entry.name;
  if (entry.name === "madvise") return /MADV_POPULATE_WRITE|, 0x17\b/.test(rest) ? entry.name : undefined;
  if (entry.name === "mmap") return rest.includes("MAP_SHARED") && rest.includes(`<${root}`) ? entry.name : undefined;
  if (call === "openat" || call === "rename" || call === "unlink")
    return rest.includes(`"`) ? pathOf(rest, root, entry.name) : undefined;
  const [, of] = /^\d+<([^>]*(?:->[^>]*)?)>/.exec(rest) ?? [];
  if (of === undefined) return undefined;
  if (of.startsWith("TCP:")) {
    if (entry.name === "pread") return "recv";
    if (entry.name === "write") return "send";
    return entry.name;
  }
  return of.startsWith(root) ? entry.name : undefined;
}

function pathOf(rest: string, root: string, name: string): string | undefined {
  const [, path] = /"([^"]*)"/.exec(rest) ?? [];
  return path?.startsWith(root) ? name : undefined;
}
