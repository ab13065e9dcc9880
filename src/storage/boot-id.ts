// The name of this boot of the machine: it tells a process that was killed from a machine that lost power. A killed process
// loses nothing that it had written; a power cut may, without a trace.

import { readFile } from "node:fs/promises";

/** Undefined where the system has none (macOS): every unclean stop then counts as a power cut, which is safe. */
export async function readBootId(): Promise<string | undefined> {
  try {
    return (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
  } catch {
    return undefined;
  }
}
