// Libraries of this directory that are loaded before the C library, so that its calls do what a test wants.

import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tempDir } from "./tmp.js";

/** Why none can be made here, or undefined. */
export const cannotPreload: string | undefined =
  process.platform !== "linux"
    ? "calls are replaced on Linux alone"
    : spawnSync("cc", ["--version"]).status === 0
      ? undefined
      : "there is no C compiler";

/** Compiles `name`.c; the path goes into LD_PRELOAD. */
export function preloadable(name: string): string {
  const source = fileURLToPath(new URL(`./${name}.c`, import.meta.url));
  const library = join(tempDir(name), `${name}.so`);
  execFileSync("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"]);
  return library;
}
