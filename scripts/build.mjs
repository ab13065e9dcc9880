// Bundles src/ and the packages that it imports into dist/ by esbuild: four entries that share chunks and need nothing but Node. The
// console, which runs in a browser, is built by Vite into dist/console/.
// The types for users of the package come from tsc, without checking: `npm run check` checks.

import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { root, run } from "./lib/run.mjs";
import { filesBelow, sumOf } from "./lib/stale.mjs";

const entries = {
  broker: "src/main.ts",
  cli: "src/cli.ts",
  index: "src/index.ts",
  client: "src/client.ts",
};
const executable = "cli.js";

const entryFiles = Object.keys(entries).map((name) => join(root, "dist", `${name}.js`));

export const bundleFiles = [...entryFiles, join(root, "dist/console/index.html")];

/** What the bundles on disk should have been made from. */
export function bundleStamp() {
  const inputs = ["package-lock.json", "tsconfig.json", "tsconfig.types.json", "scripts/build.mjs"];
  const sources = [...filesBelow(join(root, "src"), [".ts"]), ...filesBelow(join(root, "console"), [""])];
  return sumOf(root, [...sources, ...inputs.map((file) => join(root, file))]);
}

export async function buildBundles() {
  await Promise.all([bundle(), emitTypes(), buildConsole()]);
}

/** The programs alone, without types and console: what a copy of the sources needs to run. */
export async function bundle() {
  const esbuild = await import("esbuild");
  const dist = join(root, "dist");
  const result = await esbuild.build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: dist,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: true,
    sourcesContent: false,
    chunkNames: "chunks/[name]-[hash]",
    logLevel: "silent",
    write: false,
  });
  // Chunks first and entries last, each by a rename: a broker that starts in the middle finds a whole set, the old or the new one.
  const outputs = result.outputFiles.sort((a, b) => Number(isEntry(a.path)) - Number(isEntry(b.path)));
  for (const { path, contents, text } of outputs) put(path, needsRequire(path, text) ? requireHere + text : contents);
  const made = new Set(outputs.map(({ path }) => path));
  for (const file of filesBelow(dist, [".js", ".map"], ["types", "console", "console.next"])) {
    if (!made.has(file)) rmSync(file);
  }
  await esbuild.stop();
}

/**
 * In a module there is no `require`, but bundled CommonJS packages ask it for Node's modules. esbuild's helper takes what is there. Where
 * somebody bundles the client into a CommonJS program there is no URL either, and none of those packages is used.
 */
const requireHere =
  'import { createRequire as requireOf } from "node:module"; const require = import.meta.url ? requireOf(import.meta.url) : undefined; ';
const needsRequire = (path, text) => path.endsWith(".js") && /^var __require = /m.test(text);

const isEntry = (path) => entryFiles.some((file) => path === file || path === `${file}.map`);

function put(path, contents) {
  mkdirSync(dirname(path), { recursive: true });
  const next = `${path}.next`;
  writeFileSync(next, contents);
  if (basename(path) === executable) chmodSync(next, 0o755);
  renameSync(next, path);
}

/** Beside the old one, and then in its place: a broker serves one or the other. */
export async function buildConsole(outDir = join(root, "dist/console")) {
  const { build } = await import("vite");
  const next = `${outDir}.next`;
  await build({
    root: join(root, "console"),
    configFile: false,
    envDir: false,
    base: "./",
    logLevel: "error",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      outDir: next,
      emptyOutDir: true,
      // A page inlines nothing: the policy that it is served with allows files of its own origin alone.
      assetsInlineLimit: 0,
      modulePreload: false,
      target: "es2022",
      sourcemap: true,
      reportCompressedSize: false,
    },
  });
  rmSync(outDir, { recursive: true, force: true });
  renameSync(next, outDir);
}

async function emitTypes() {
  const outDir = join(root, "dist/types");
  rmSync(outDir, { recursive: true, force: true });
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { code, output } = await run(process.execPath, [tsc, "-p", "tsconfig.types.json"]);
  if (code !== 0) throw new Error(`tsc cannot write dist/types (exit ${code}):\n${output}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await buildBundles();
