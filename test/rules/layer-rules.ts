// The rules about who may know whom. Pure: a file in, violations out, so that each rule is tested on a planted one.

import { builtinModules } from "node:module";
import { posix } from "node:path";
import { type Import, importsOf, type Source, type Violation } from "./sources.js";

/** From the top down. Each layer imports from itself and from what stands below it. */
export const layers = [
  "main",
  "cli",
  "ops",
  "embedded",
  "server",
  "broker",
  "log",
  "storage",
  "client",
  "protocol",
  "native",
  "model",
] as const;

/** What a layer may import beyond the order: narrower than "everything below". */
const only: Record<string, { readonly layers: readonly string[]; readonly packages: boolean }> = {
  // It is bundled into other people's programs: no addon, no broker, no package.
  client: { layers: ["protocol", "model"], packages: false },
  protocol: { layers: ["model"], packages: false },
};

/** Pairs that the order alone would allow. */
const never: readonly (readonly [from: string, to: string, why: string])[] = [
  ["storage", "protocol", "storage keeps bytes and never sees the protocol"],
  ["embedded", "storage", "what logs offer to others is in log"],
  ["embedded", "server", "there is no wire between a program and its own logs"],
  ["server", "client", "the broker does not talk to itself"],
  ["broker", "client", "the broker does not talk to itself"],
  ["log", "client", "the log is below every network"],
  ["log", "protocol", "the embedded log has no protocol"],
];

/** The layer of a file, or undefined outside src/. The entries of the package (src/index.ts, src/main.ts) are the top one. */
export function layerOf(path: string): string | undefined {
  const [src, name, ...rest] = path.split("/");
  if (src !== "src" || name === undefined) return undefined;
  return rest.length === 0 ? "main" : name;
}

export function layerViolations(source: Source): Violation[] {
  const from = layerOf(source.path);
  if (from === undefined) return [];
  if (!isLayer(from)) return [`${source.path}: src/${from} is not a layer: ${layers.join(", ")}`];
  return importsOf(source).flatMap((each) => importViolations(source.path, from, each));
}

const isLayer = (name: string): boolean => (layers as readonly string[]).includes(name);
const depth = (layer: string): number => (layers as readonly string[]).indexOf(layer);

function importViolations(path: string, from: string, { where, specifier }: Import): Violation[] {
  if (!specifier.startsWith(".")) return packageViolations(where, from, specifier);
  const target = posix.join(posix.dirname(path), specifier);
  const to = layerOf(target);
  if (to === undefined || !isLayer(to)) return [`${where}: ${specifier} leaves src/`];
  if (to === from) return [];
  if (depth(to) < depth(from)) return [`${where}: ${from} imports ${specifier}: ${to} stands above it`];
  const narrower = only[from];
  if (narrower !== undefined && !narrower.layers.includes(to)) {
    return [`${where}: ${from} imports ${specifier}, but may import only ${narrower.layers.join(", ")}`];
  }
  return never.filter(([a, b]) => a === from && b === to).map(([, , why]) => `${where}: ${specifier}: ${why}`);
}

const fileModules = new Set(["node:fs", "node:fs/promises"]);

function packageViolations(where: string, from: string, specifier: string): Violation[] {
  const builtin = builtinModules.includes(specifier.replace(/^node:/, "").split("/")[0] ?? "");
  if (builtin && !specifier.startsWith("node:")) return [`${where}: write node:${specifier}`];
  if (from === "server" && fileModules.has(specifier)) return [`${where}: server never touches a file`];
  if (!builtin && only[from]?.packages === false)
    return [`${where}: ${from} has no dependencies, but imports ${specifier}`];
  return [];
}

/** `native/core/` is plain C++: no header of Node, none of the wrapping above it. */
export function coreIncludeViolations({ path, text }: Source): Violation[] {
  if (!path.startsWith("native/core/")) return [];
  const includes = [...text.matchAll(/^[ \t]*#[ \t]*include[ \t]+[<"]([^>"]+)[>"]/gm)];
  return includes
    .filter(
      ([, header]) =>
        /^(node|napi|node_api|js_native_api|v8|uv)([-_./].*)?$/.test(header ?? "") || /(^|\/)wrap\//.test(header ?? ""),
    )
    .map(([, header]) => `${path}: core/ includes ${header}`);
}
