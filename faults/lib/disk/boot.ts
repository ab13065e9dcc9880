// How a process is started that works on what is mounted here.

import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Ended with this process, however that ends: what is mounted could else not be taken away. */
export const endedWithUs: readonly string[] = ["setpriv", "--pdeathsig", "KILL"];

/** The same, and the kernel has been started anew, as the process sees it. `directory` gets a file. */
export async function inAnotherBoot(directory: string): Promise<string[]> {
  await writeFile(bootIdOf(directory), `${randomUUID()}\n`);
  return inThatBoot(directory);
}

/** The kernel is the one of the last {@link inAnotherBoot}. */
export function inThatBoot(directory: string): string[] {
  const under = `mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec "$@"`;
  return [...endedWithUs, "unshare", "--mount", "sh", "-c", under, "sh", bootIdOf(directory)];
}

const bootIdOf = (directory: string): string => join(directory, "boot-id");
