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
/** Said in its message, and not more: there is nothing to look for in the bench. */
export class NoTools extends Error {
  constructor(message, exitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}

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

async function buildTool(name, directories, flags, into) {
  const files = (await Promise.all(directories.map(filesOf))).flat();
  const binary = join(into, name);
  const newest = Math.max(...(await Promise.all([...files, fileURLToPath(import.meta.url)].map(modified))));
  if ((await modified(binary)) > newest) return binary;
  const [compiler, ...first] = (process.env.CXX || "g++").split(" ");
  // Renamed into place, so that two builds at once never run half a binary.
  const partial = `${binary}.${process.pid}`;
  const units = files.filter((file) => file.endsWith(".cc"));
  await run(compiler, [...first, ...flags, "-I", sources, "-o", partial, ...units, "-pthread"]).catch((error) => {
    throw noTool(name, compiler, error);
  });
  await rename(partial, binary);
  return binary;
}

function noTool(name, compiler, { code, stderr = "" }) {
  if (code === "ENOENT" || code === "EACCES") {
    const asked = process.env.CXX ? "CXX names it" : "set CXX to another one, or install g++";
    return new NoTools(`there is no C++ compiler ${compiler}, and the bench's tools need one: ${asked}`, 2);
  }
  return new NoTools(`${stderr.trim()}\n${name} does not build (${compiler} ended with ${code})`.trim(), 1);
}

/** Paths of the tools, built if need be. Throws NoTools. */
export async function buildTools(into = toolsDirectory) {
  await mkdir(into, { recursive: true });
  const flags = ["-std=c++17", "-O3", "-g", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti"];
  if (process.arch === "x64") flags.push("-msse4.2");
  if (process.arch === "arm64" && process.platform === "linux") flags.push("-march=armv8-a+crc");
  const built = await Promise.all(
    Object.entries(TOOLS).map(async ([name, directories]) => [name, await buildTool(name, directories, flags, into)]),
  );
  return Object.fromEntries(built);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, path] of Object.entries(await buildTools())) console.log(`${name}: ${path}`);
}
