// `npm run faults [-- RUNG…]`: makes the checkout ready (addon, broker), bundles faults/ and runs it. See main.ts for its flags.

import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundlePrograms } from "../scripts/lib/programs.mjs";
import { setupOrExit } from "../scripts/setup.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);

/** Bundles main.ts and, of each rung, the programs in its folder programs/, which are run as processes of their own: rungs/NAME/programs/X.js. */
export async function bundleFaults() {
  const rungs = join(here, "rungs");
  const folders = existsSync(rungs) ? readdirSync(rungs).map((name) => join(rungs, name, "programs")) : [];
  const programs = folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((file) => file.endsWith(".ts"));
  return bundlePrograms([join(here, "main.ts"), ...programs], here, join(root, ".cache", "faults", "js"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await setupOrExit();
  const bundled = await bundleFaults().catch((error) => {
    process.stderr.write(`the ladder cannot be built in .cache/faults: ${String(error.message).split("\n")[0]}\n`);
    process.exit(2);
  });
  const { runMain } = await import(pathToFileURL(join(bundled, "main.js")).href);
  await runMain(root, process.argv.slice(2));
}
