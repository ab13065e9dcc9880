// Makes the package: millrace-VERSION.tgz. `npm run package`. An `npm pack` in the checkout would pack the checkout, so its prepack script
// refuses: see pack-stage.mjs for why the package is laid out in a directory of its own.
//
//   node scripts/pack.mjs                              with the binary of this system
//   node scripts/pack.mjs --prebuilds DIR              with the binaries of DIR, one for each system, as they are
//   node scripts/pack.mjs --out DIR                    into DIR instead of the checkout

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { addonSources } from "./lib/addon.mjs";
import { root, run } from "./lib/run.mjs";
import { Stamps } from "./lib/stale.mjs";
import { stage } from "./pack-stage.mjs";
import { prebuild } from "./prebuild.mjs";
import { setup } from "./setup.mjs";

const usage = "usage: pack.mjs [--prebuilds DIR] [--out DIR]";

/** Resolves with the path of the package. */
export async function pack({ prebuilds, out = root } = {}) {
  await setup();
  const dir = join(root, ".cache/package");
  await stage(dir, prebuilds ?? (await prebuildsOfThisSystem()));
  // Not from a script of the checkout: npm would tell the npm inside about this package.json.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
  const { code, output } = await run("npm", ["pack", "--ignore-scripts", "--silent"], { cwd: dir, env });
  const name = output.trim().split("\n").at(-1) ?? "";
  if (code !== 0 || !existsSync(join(dir, name))) throw new Error(`npm pack failed (exit ${code}):\n${output}`);
  mkdirSync(out, { recursive: true });
  renameSync(join(dir, name), join(out, name));
  return join(out, name);
}

/** What a binary is made from, and for: prebuildify's variable chooses another target than this machine. */
export const prebuildStamp = (arch = process.env.PREBUILD_ARCH ?? process.arch) => `${addonSources()} ${arch}`;

/** Compiled anew only when its sources changed: the tests pack, and it takes half a minute. */
async function prebuildsOfThisSystem() {
  const dir = join(root, ".cache/prebuilds");
  const stamps = new Stamps(join(root, ".cache/prebuilds.json"));
  const sources = prebuildStamp();
  if (!existsSync(dir) || readdirSync(dir).length === 0 || !stamps.has("prebuilds", sources)) {
    rmSync(dir, { recursive: true, force: true });
    await prebuild(dir);
    stamps.set("prebuilds", sources);
  }
  return dir;
}

async function main(args) {
  const options = { prebuilds: { type: "string" }, out: { type: "string" }, refuse: { type: "boolean" } };
  const { values } = parseArgs({ args, options });
  if (values.refuse)
    throw new Error("this is the checkout, not the package: `npm run package` makes millrace-VERSION.tgz");
  const absolute = (path) => (path === undefined ? undefined : resolve(path));
  const file = await pack({ prebuilds: absolute(values.prebuilds), out: absolute(values.out) });
  console.log(`${file} ${(statSync(file).size / 1024).toFixed(0)} KiB`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(process.argv.slice(2)).catch((error) => {
    for (const each of error instanceof AggregateError ? error.errors : [error])
      console.error(`millrace: ${each.message}`);
    if (error.code?.startsWith("ERR_PARSE_ARGS")) console.error(usage);
    process.exit(1);
  });
}
