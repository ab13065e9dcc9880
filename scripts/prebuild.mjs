// Compiles the addon for this system as a binary that the package carries: prebuilds/PLATFORM-ARCH/millrace[.LIBC].node, stripped,
// for Node-API and so for every Node. Built from the sources as the package has them, in a directory of their own, so that a checkout's
// build/ stays as it is. Nothing is downloaded.
//
//   node scripts/prebuild.mjs             into prebuilds/
//   node scripts/prebuild.mjs --out DIR   into DIR/PLATFORM-ARCH/
//
// prebuildify's variables choose another target: PREBUILD_ARCH=arm64 with CXX and PREBUILD_STRIP_BIN of a cross compiler.

import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { buildEnvironment } from "./lib/addon.mjs";
import { root, run } from "./lib/run.mjs";
import { stageNativeSources } from "./pack-sources.mjs";

/** Resolves with the paths of what was made. */
export async function prebuild(out) {
  const arch = process.env.PREBUILD_ARCH ?? process.arch;
  const dir = join(root, ".cache/prebuild", `${process.platform}-${arch}`);
  rmSync(dir, { recursive: true, force: true });
  stageNativeSources(dir);
  writeFileSync(join(dir, "package.json"), JSON.stringify({ name: "millrace" }));

  const gyp = join(root, "node_modules/.bin/node-gyp");
  const env = { ...(await buildEnvironment()), PREBUILD_NODE_GYP: gyp, JOBS: "max" };
  const libc = process.platform === "linux" ? ["--tag-libc"] : [];
  const args = ["--napi", "--strip", ...libc, "--target", `node@${process.versions.node}`, "--cwd", dir, "--out", dir];
  const { code, output } = await run(process.execPath, [join(root, "node_modules/prebuildify/bin.js"), ...args], {
    env,
  });
  if (code !== 0) throw new Error(`the addon cannot be prebuilt (prebuildify exit ${code}):\n${output}`);

  const made = join(dir, "prebuilds");
  mkdirSync(out, { recursive: true });
  cpSync(made, out, { recursive: true });
  return readdirSync(made, { recursive: true })
    .filter((name) => name.endsWith(".node"))
    .map((name) => join(out, name));
}

async function main(args) {
  const wrong = args.length > 0 && (args[0] !== "--out" || args.length !== 2);
  if (wrong) {
    console.error("usage: prebuild.mjs [--out DIR]");
    process.exit(2);
  }
  for (const file of await prebuild(resolve(args[1] ?? join(root, "prebuilds")))) console.log(file);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(process.argv.slice(2)).catch((error) => {
    console.error(`millrace: ${error.message}`);
    process.exit(1);
  });
}
