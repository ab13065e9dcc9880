// The steps of scripts/check.mjs. Each resolves with `{ passed, failed, skipped: [{ name, why }], output }`.

import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { nativeTests } from "../native-tests.mjs";
import { root, run } from "./run.mjs";
import { filesBelow } from "./stale.mjs";

const tool = (path) => join(root, "node_modules", path);
const node = (path, args, options) => run(process.execPath, [tool(path), ...args], options);

const asOneTest = ({ code, output }) => ({
  passed: code === 0 ? 1 : 0,
  failed: code === 0 ? 0 : 1,
  skipped: [],
  output,
});

/** A test that never gives the event loop back is past vitest's own time limits. The quick ones take a few minutes on two cores. */
const quickLimitMs = 15 * 60_000;
const slowLimitMs = 60 * 60_000;

/** No longer than until CHECK_UNTIL, in seconds since 1970, where somebody says when all has to be over. */
export function limitWithin(limitMs, until = process.env.CHECK_UNTIL, now = Date.now()) {
  return until === undefined ? limitMs : Math.max(1_000, Math.min(limitMs, Number(until) * 1000 - now));
}

/** By name, in this order; `usual` ones run when nothing else is asked for. */
export const steps = [
  { name: "types", usual: true, action: () => tscChecks() },
  { name: "lint", usual: true, action: () => biome(["check", "--formatter-enabled=false", "--error-on-warnings"]) },
  { name: "format", usual: true, action: () => biome(["format"]) },
  { name: "format-native", usual: true, action: () => checkNativeFormat() },
  { name: "tests", usual: true, action: (onLine) => vitest("vitest.config.ts", quickLimitMs, onLine) },
  { name: "native", usual: true, action: (onLine) => native("asan", onLine) },
  { name: "native-tsan", usual: true, action: (onLine) => native("tsan", onLine) },
  { name: "scenarios", usual: false, action: (onLine) => vitest("vitest.slow.config.ts", slowLimitMs, onLine) },
  { name: "console", usual: false, action: (onLine) => vitest("vitest.console.config.ts", quickLimitMs, onLine) },
  { name: "package", usual: false, action: (onLine) => vitest("vitest.package.config.ts", quickLimitMs, onLine) },
];

/** The console and the tests that run in it are for browsers, with other globals. */
async function tscChecks() {
  const checks = [".", "console", "test/console/browser"].map(async (dir) =>
    asOneTest(await node("typescript/bin/tsc", ["-p", dir])),
  );
  const results = await Promise.all(checks);
  return results.find(({ failed }) => failed > 0) ?? results[0];
}

export const biome = async (args) =>
  asOneTest(await node("@biomejs/biome/bin/biome", [...args, "--max-diagnostics=100", "."]));

/** The C++ files that clang-format looks after. */
export function nativeFiles() {
  return ["native", "bench", "faults"].flatMap((dir) => filesBelow(join(root, dir), [".cc", ".h"]));
}

const clangFormat = (args) => node("clang-format-node/build/cli.js", [...args, ...nativeFiles()]);

export const formatNative = async () => asOneTest(await clangFormat(["-i"]));

/** Names the files instead of each place in them: nobody mends these by hand. */
async function checkNativeFormat() {
  const result = asOneTest(await clangFormat(["--dry-run", "-Werror"]));
  const files = new Set(
    [...result.output.matchAll(/^(.+?):\d+:\d+: error:/gm)].map(([, file]) => relative(root, file)),
  );
  const output = files.size === 0 ? result.output : `npm run format would change:\n  ${[...files].join("\n  ")}`;
  return { ...result, output };
}

async function native(variant, onLine) {
  const { passed, failed, skipped, output } = await nativeTests({ variant, say: onLine });
  return {
    passed,
    failed,
    skipped: skipped === undefined ? [] : [{ name: `native tests (${variant})`, why: skipped }],
    output,
  };
}

async function vitest(config, atMostMs, onLine) {
  const limitMs = limitWithin(atMostMs);
  const counts = join(root, ".cache", `${config}.counts.json`);
  mkdirSync(join(root, ".cache"), { recursive: true });
  rmSync(counts, { force: true });
  const reporters = ["--reporter=default", `--reporter=${join(root, "scripts/lib/vitest-counts.mjs")}`];
  const env = { ...process.env, CHECK_COUNTS: counts };
  const { code, output } = await node("vitest/vitest.mjs", ["run", "--config", config, ...reporters], {
    env,
    onLine,
    limitMs,
  });
  const { running, ...counted } = existsSync(counts) ? JSON.parse(readFileSync(counts, "utf8")) : { running: [] };
  if (running !== undefined) {
    const what = `vitest did not come to its end (exit ${code}), at the latest after ${(limitMs / 60_000).toFixed(1)} minutes; it was running:`;
    return { passed: 0, failed: 1, skipped: [], output: `${output}\n${[what, ...running].join("\n  ")}\n` };
  }
  // No test at all is no success.
  const failed = counted.failed === 0 && code !== 0 ? 1 : counted.failed;
  return { ...counted, failed, output: onLine === undefined ? output : "" };
}
