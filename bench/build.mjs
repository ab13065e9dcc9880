// Builds the native bench tools (`floor`, `loadgen`, `waiters`) with the C++ compiler, when they are missing or older than their sources. Not
// part of binding.gyp: node-gyp would compile them with every addon on every machine, and `npm start` needs neither.

import { execFile } from "node:child_process";
import { mkdir, readdir, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const here = dirname(fileURLToPath(import.meta.url));
const sources = join(here, "floor");
export const toolsDirectory = join(here, "..", ".cache", "bench");

const TOOLS = { floor: ["common", "floor"], loadgen: ["common", "loadgen"], waiters: ["common", "waiters"] };

async function filesOf(directory) {
  const names = await readdir(join(sources, directory));
  return names.filter((name) => /\.(cc|h)$/.test(name)).map((name) => join(sources, directory, name));
}

async function modified(path) {
  return stat(path).then(
    (s) => s.mtimeMs,
    () => 0,
  );
}

async function buildTool(name, directories, flags) {
  const files = (await Promise.all(directories.map(filesOf))).flat();
  const binary = join(toolsDirectory, name);
  const newest = Math.max(...(await Promise.all([...files, fileURLToPath(import.meta.url)].map(modified))));
  if ((await modified(binary)) > newest) return binary;
  const compiler = process.env.CXX ?? "g++";
  // Renamed into place, so that two builds at once never run half a binary.
  const partial = `${binary}.${process.pid}`;
  await run(compiler, [...flags, "-I", sources, "-o", partial, ...files.filter((f) => f.endsWith(".cc")), "-pthread"]);
  await rename(partial, binary);
  return binary;
}

/** Paths of the tools, built if need be. */
export async function buildTools() {
  await mkdir(toolsDirectory, { recursive: true });
  const flags = ["-std=c++17", "-O3", "-g", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti"];
  if (process.arch === "x64") flags.push("-msse4.2");
  if (process.arch === "arm64" && process.platform === "linux") flags.push("-march=armv8-a+crc");
  const built = await Promise.all(
    Object.entries(TOOLS).map(async ([name, directories]) => [name, await buildTool(name, directories, flags)]),
  );
  return Object.fromEntries(built);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, path] of Object.entries(await buildTools())) console.log(`${name}: ${path}`);
}
