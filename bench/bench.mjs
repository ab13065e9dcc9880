// `npm run bench`: builds the native tools, makes the checkout ready (addon, broker), bundles bench/ and runs it. Flags: command-line.mjs.

import { readdirSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundlePrograms } from "../scripts/lib/programs.mjs";
import { setupOrExit } from "../scripts/setup.mjs";
import { buildTools, toolsDirectory } from "./build.mjs";
import { HINT, parseCommandLine, UsageError, usage } from "./command-line.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);

/** Bundles main.ts and the programs of sides/, which are run as processes of their own. */
export async function bundleBench() {
  const sides = readdirSync(join(here, "sides")).filter((name) => name.endsWith(".ts"));
  const entries = [join(here, "main.ts"), ...sides.map((name) => join(here, "sides", name))];
  return bundlePrograms(entries, here, join(toolsDirectory, "js"));
}

/** Script and style of the page of figures, for a browser. */
export async function bundlePage() {
  const esbuild = await import("esbuild");
  const outdir = join(toolsDirectory, "page");
  await mkdir(outdir, { recursive: true });
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: [join(here, "report", "page.mjs")],
    outfile: join(outdir, "page.js"),
    bundle: true,
    format: "iife",
    platform: "browser",
    target: "es2022",
    minify: true,
    logLevel: "warning",
  });
  const styles = [join(root, "node_modules", "uplot", "dist", "uPlot.min.css"), join(here, "report", "page.css")];
  const texts = await Promise.all(styles.map((path) => readFile(path, "utf8")));
  await writeFile(join(outdir, "page.css"), texts.join("\n"));
  return outdir;
}

/** Arguments first, then what takes long and writes. Resolves when it has ended, with the exit code set. */
async function begin(argv) {
  let command;
  try {
    ({ command } = parseCommandLine(argv));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return end(2, `${error.message}\n${HINT}`);
  }
  if (command === "help") {
    process.stdout.write(`${usage()}\n`);
    return;
  }
  let paths;
  try {
    if (command === "run" || command === "peers") paths = await buildTools();
  } catch (error) {
    return end(error.exitCode ?? 1, error.message);
  }
  await setupOrExit();
  let bundled;
  try {
    [bundled] = await Promise.all([bundleBench(), bundlePage()]);
  } catch (error) {
    // esbuild has shown where.
    return end(1, `bench/ cannot be bundled: ${error.message.split("\n")[0]}`);
  }
  const { runMain } = await import(pathToFileURL(join(bundled, "main.js")).href);
  await runMain(root, paths, argv);
}

function end(code, why) {
  process.stderr.write(`${why}\n`);
  process.exitCode = code;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await begin(process.argv.slice(2));
