// Builds the native addon by node-gyp, against the headers of the Node that runs this. Nothing is downloaded: what is missing is named
// before node-gyp could go and look for it elsewhere.

import { existsSync, readFileSync, realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { root, run } from "./run.mjs";
import { filesBelow, sumOf } from "./stale.mjs";

export const addonFile = join(root, "build/Release/millrace.node");

/** What the addon on disk should have been made from. */
export function addonSources() {
  const api = join(root, "node_modules/node-addon-api/package.json");
  const files = [...filesBelow(join(root, "native"), [".cc", ".h", ".inc"], ["test"]), join(root, "binding.gyp"), api];
  const { modules } = process.versions;
  return sumOf(root, files, [process.version, modules, process.platform, process.arch]);
}

export async function buildAddon() {
  const output = await compile(root, join(root, "node_modules/node-gyp/bin/node-gyp.js"));
  if (!existsSync(addonFile)) throw new Error(`node-gyp left no ${addonFile}:\n${output}`);
}

/** Compiles what the binding.gyp of `dir` says, with the node-gyp given, into build/Release there. Resolves with what it printed. */
export async function compile(dir, gyp) {
  const env = await buildEnvironment();
  const args = [
    "configure",
    "build",
    `--nodedir=${env.npm_config_nodedir}`,
    `--jobs=${availableParallelism()}`,
    "--release",
  ];
  const { code, output } = await run(process.execPath, [gyp, ...args], { cwd: dir, env });
  if (code !== 0) throw new Error(`the native addon does not build (node-gyp exit ${code}):\n${output}`);
  return output;
}

/** The environment in which node-gyp finds everything here. Throws what is missing. */
export async function buildEnvironment() {
  if (process.platform !== "linux" && process.platform !== "darwin") {
    throw new Error(`millrace runs on Linux and macOS; ${process.platform}-${process.arch} is not supported`);
  }
  const nodedir = headersOfThisNode();
  await toolsOfTheBuild();
  return environmentWith(nodedir);
}

/** node-gyp lets the environment win over its arguments: an empty npm_config_nodedir there, or a target, would send it downloading. */
function environmentWith(nodedir) {
  const misleading = /^npm_(package_)?config_(node_gyp_)?(nodedir|target|runtime|disturl|dist_url|devdir)$/i;
  const rest = Object.entries(process.env).filter(([name]) => !misleading.test(name));
  return { ...Object.fromEntries(rest), npm_config_nodedir: nodedir };
}

/** The directory with include/node of the running Node: its prefix, or npm_config_nodedir where somebody chose one. */
export function headersOfThisNode(
  prefix = dirname(dirname(realpathSync(process.execPath))),
  chosen = process.env.npm_config_nodedir ?? "",
) {
  const dir = chosen === "" ? prefix : chosen;
  const header = join(dir, "include/node/node_version.h");
  const wayOut =
    "They come with the archives of nodejs.org, with nvm and with NodeSource's packages; on Debian and Ubuntu's own Node they are " +
    "libnode-dev. Or set npm_config_nodedir to a directory that has include/node. Nothing is downloaded for it.";
  if (!existsSync(header)) {
    throw new Error(`the headers of Node ${process.version} are missing: there is no ${header}.\n${wayOut}`);
  }
  const major = /#define NODE_MAJOR_VERSION (\d+)/.exec(readFileSync(header, "utf8"))?.[1];
  const running = process.versions.node.split(".")[0];
  if (major !== running) {
    throw new Error(`${header} belongs to Node ${major}, but Node ${process.version} is running.\n${wayOut}`);
  }
  return dir;
}

/** Names everything that is missing at once, instead of what node-gyp happens to meet first. */
async function toolsOfTheBuild() {
  const wanted = [
    { what: "a C++ compiler", any: [process.env.CXX ?? "c++", "g++", "clang++"], debian: "g++" },
    { what: "make", any: [process.env.MAKE ?? "make", "gmake"], debian: "make" },
    {
      what: "Python 3",
      any: [process.env.npm_config_python ?? process.env.PYTHON ?? "python3", "python"],
      debian: "python3",
    },
  ];
  const missing = [];
  for (const tool of wanted) {
    if (!(await anyWorks(tool.any))) missing.push(tool);
  }
  if (missing.length === 0) return;
  const how =
    process.platform === "darwin"
      ? "xcode-select --install"
      : `apt-get install ${missing.map((tool) => tool.debian).join(" ")}   (or your system's package for it)`;
  throw new Error(
    `the native addon needs ${missing.map((tool) => tool.what).join(" and ")}. Install it with:\n  ${how}`,
  );
}

async function anyWorks(commands) {
  for (const command of commands) {
    const [program, ...args] = command.split(" ");
    if ((await run(program, [...args, "--version"])).code === 0) return true;
  }
  return false;
}
