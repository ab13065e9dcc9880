// Are the packages there that package-lock.json asks for? Compared with what npm itself wrote down as installed
// (node_modules/.package-lock.json), so that an `npm ci` by hand counts and an interrupted one does not.

import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { run } from "./run.mjs";

/** Why an install is needed, or undefined. */
export function installNeeded(root) {
  const written = join(root, "node_modules/.package-lock.json");
  if (!existsSync(written)) return "no packages are installed";
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  const installed = JSON.parse(readFileSync(written, "utf8")).packages;
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === "") continue;
    const found = installed[path];
    const name = path.slice("node_modules/".length);
    if (found === undefined) {
      if (!entry.optional || isForThisMachine(entry)) return `${name} is not installed`;
    } else if (found.version !== entry.version || found.integrity !== entry.integrity) {
      return `${name} is at ${found.version}, not ${entry.version}`;
    }
  }
  for (const path of Object.keys(installed)) {
    if (wanted[path] === undefined) return `${path.slice("node_modules/".length)} is not in package-lock.json`;
  }
  return undefined;
}

/** Of the optional packages only those that name this system are surely wanted (`libc` is left to npm). */
function isForThisMachine({ os, cpu, libc }) {
  return libc === undefined && os?.includes(process.platform) && cpu?.includes(process.arch);
}

/**
 * `npm ci` with the npm that runs us, development packages included whatever NODE_ENV says: they are what builds. Their install
 * scripts are not run, because none of them is needed.
 */
export async function install() {
  const npm = process.env.npm_execpath ?? "";
  const args = ["ci", "--include=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
  const { code, output } =
    basename(npm) === "npm-cli.js" ? await run(process.execPath, [npm, ...args]) : await run("npm", args);
  if (code !== 0) throw new Error(`npm ci failed (exit ${code}):\n${output}`);
}
