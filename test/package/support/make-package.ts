// Before all tests of the package: packs it, unless PACKAGE_TO_TEST names one, and fetches what runs it beside the Node and npm that
// are here. What the registry does not give is named, and the tests that need it are skipped with that reason.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { root } from "../../rules/sources.js";

const run = promisify(execFile);

/** A program from the registry, or why there is none. */
export type Fetched = { readonly path: string } | { readonly missing: string };

declare module "vitest" {
  interface ProvidedContext {
    /** The path of millrace-VERSION.tgz. */
    readonly tarball: string;
    /** The program `node` of each major version that we support. */
    readonly nodes: Readonly<Record<string, Fetched>>;
    /** npm-cli.js of each npm that we try. */
    readonly npms: Readonly<Record<string, Fetched>>;
    /** The program `tsc` of the oldest TypeScript that is promised, and of the newest that we have tried. */
    readonly compilers: Readonly<Record<(typeof compilers)[number], Fetched>>;
  }
}

/** What package.json's `engines` promises: the oldest, and the two that are supported for long besides. */
export const nodeMajors = ["20", "22", "24"];

/** What docs/installing.md promises. Before 5.8 TypeScript lets no CommonJS ask for an ES module. */
export const compilers = ["5.0", "5.8", "newest"] as const;

/** vitest calls it before the first file. */
export async function setup(project: TestProject): Promise<void> {
  const dir = join(root, ".cache/package-test");
  project.provide("tarball", await packed(dir));
  project.provide("nodes", Object.fromEntries(await Promise.all(nodeMajors.map(async (m) => [m, await node(dir, m)]))));
  project.provide("npms", { here: npmHere(), "10": await npm10(dir) });
  const [oldest, commonJs] = await Promise.all([tsc(dir, "5.0"), tsc(dir, "5.8")]);
  const newest = { path: join(root, "node_modules/typescript/bin/tsc") };
  project.provide("compilers", { "5.0": oldest, "5.8": commonJs, newest });
}

async function packed(dir: string): Promise<string> {
  const given = process.env.PACKAGE_TO_TEST;
  if (given !== undefined) return resolve(given);
  const { stdout } = await run(process.execPath, [join(root, "scripts/pack.mjs"), "--out", join(dir, "packed")]);
  return stdout.replace(/ \d+ KiB\n$/, "");
}

async function node(dir: string, major: string): Promise<Fetched> {
  if (process.versions.node.split(".")[0] === major) return { path: process.execPath };
  const name = `node-${process.platform}-${process.arch}`;
  return await fetched(join(dir, `node-${major}`), `${name}@${major}`, `${name}/bin/node`);
}

const npm10 = (dir: string): Promise<Fetched> => fetched(join(dir, "npm-10"), "npm@10", "npm/bin/npm-cli.js");

const tsc = (dir: string, version: string): Promise<Fetched> =>
  fetched(join(dir, `typescript-${version}`), `typescript@${version}`, "typescript/bin/tsc");

/** Kept between runs. A directory whose install broke off has no program in it and is made anew. */
async function fetched(dir: string, spec: string, program: string): Promise<Fetched> {
  const path = join(dir, "node_modules", program);
  if (existsSync(path)) return { path };
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), "{}");
  const here = npmHere();
  if ("missing" in here) return here;
  const args = [here.path, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", spec];
  try {
    await run(process.execPath, args, { cwd: dir, timeout: 300_000 });
  } catch (error) {
    const said = /npm error .*/.exec((error as { stderr?: string }).stderr ?? "")?.[0] ?? String(error);
    return { missing: `npm does not get ${spec}: ${said}` };
  }
  return existsSync(path) ? { path } : { missing: `${spec} has no ${program}` };
}

/** The npm that runs these tests, or the one beside this Node. */
function npmHere(): Fetched {
  const running = process.env.npm_execpath;
  if (running?.endsWith("npm-cli.js")) return { path: running };
  const beside = join(dirname(dirname(realpathSync(process.execPath))), "lib/node_modules/npm/bin/npm-cli.js");
  return existsSync(beside) ? { path: beside } : { missing: `there is no npm beside ${process.execPath}` };
}
