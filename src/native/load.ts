// Finds the compiled addon: what was built in this directory, or the prebuilt binary that fits this system. Where there
// is none, and where it does not load, the error says what was looked for and gives the one command that builds it.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import findAddon from "node-gyp-build";
import { MillraceError } from "../model/errors.js";
import type { NativeAddon } from "./addon.js";
import { lackOfElf } from "./whole-elf.js";

/** The directory of this package: the first one upwards whose package.json names it. The same from src/ and from dist/. */
export function packageRoot(from: string = fileURLToPath(import.meta.url)): string {
  for (let dir = dirname(from); ; dir = dirname(dir)) {
    const manifest = join(dir, "package.json");
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).name === "millrace") return dir;
    if (dir === dirname(dir)) {
      throw new MillraceError("ADDON_UNAVAILABLE", `no package.json of millrace above ${from}`);
    }
  }
}

export function loadAddon(root: string = packageRoot()): NativeAddon {
  const system = thisSystem();
  if (system.platform !== "linux" && system.platform !== "darwin") {
    throw new MillraceError(
      "ADDON_UNAVAILABLE",
      `millrace runs on Linux and macOS; ${system.platform}-${system.arch} is not supported`,
    );
  }
  const file = locate(root, system);
  refuseHalfAFile(file, root, system);
  try {
    return createRequire(import.meta.url)(file) as NativeAddon;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    throw unavailable(`the compiled addon ${file} does not load on ${named(system)}: ${why}`, root, cause);
  }
}

/** Of a file that is cut off the linker says nothing: it dies. macOS refuses such a file itself, with a message. */
function refuseHalfAFile(file: string, root: string, system: System): void {
  if (process.platform !== "linux") return;
  let lack: string | undefined;
  try {
    lack = lackOfElf(file);
  } catch (cause) {
    throw unavailable(`the compiled addon ${file} cannot be read: ${String(cause)}`, root, cause);
  }
  if (lack !== undefined) {
    throw unavailable(`the compiled addon ${file} does not load on ${named(system)}: ${lack}`, root, undefined);
  }
}

function locate(root: string, system: System): string {
  try {
    return findAddon.resolve(root);
  } catch (cause) {
    const places = [join(root, "build/Release"), join(root, "prebuilds", `${system.platform}-${system.arch}`)];
    const there = prebuiltBinaries(join(root, "prebuilds"));
    const have = there.length === 0 ? "there are no prebuilt ones" : `there are prebuilt ones for ${there.join(", ")}`;
    throw unavailable(
      `no compiled addon for ${named(system)}: looked in ${places.join(" and ")}; ${have}`,
      root,
      cause,
    );
  }
}

interface System {
  readonly platform: string;
  readonly arch: string;
  /** Undefined where there is only one. */
  readonly libc: string | undefined;
}

/** What node-gyp-build looks for; it takes the same variables, with which a package is prepared for another system. */
function thisSystem(): System {
  const { npm_config_platform, npm_config_arch, LIBC } = process.env;
  const platform = npm_config_platform || process.platform;
  const libc = LIBC || (existsSync("/etc/alpine-release") ? "musl" : "glibc");
  return { platform, arch: npm_config_arch || process.arch, libc: platform === "linux" ? libc : undefined };
}

function named({ platform, arch, libc }: System): string {
  const { node, modules, napi } = process.versions;
  const about = [...(libc === undefined ? [] : [libc]), `Node ${node}`, `ABI ${modules}`, `Node-API ${napi}`];
  return `${platform}-${arch} (${about.join(", ")})`;
}

/** As `linux-x64 (glibc)`. */
function prebuiltBinaries(dir: string): string[] {
  const names = (path: string): string[] => (existsSync(path) ? readdirSync(path).sort() : []);
  return names(dir).flatMap((system) =>
    names(join(dir, system))
      .filter((file) => file.endsWith(".node"))
      .map((file) => {
        const libc = /\.(glibc|musl)\./.exec(file)?.[1];
        return libc === undefined ? system : `${system} (${libc})`;
      }),
  );
}

/** In an installed package its build.mjs, by its whole path: right from any directory, and never asked of a registry. */
function unavailable(what: string, root: string, cause: unknown): MillraceError {
  const builder = join(root, "build.mjs");
  const command = existsSync(builder) ? `node ${JSON.stringify(builder)}` : `npm run build (in ${root})`;
  return new MillraceError(
    "ADDON_UNAVAILABLE",
    `${what}. Build it with: ${command}; it needs a C++ compiler, make and Python 3`,
    { cause },
  );
}
