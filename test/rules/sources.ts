// The files that the rules look at, and their syntax trees (vite's parser, which the tests run on anyway).

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** A file of the repository by its path from the root, with `/`. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

/** What every node of a syntax tree has. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

/** What a rule found: where, and what is wrong. */
export type Violation = string;

export function filesBelow(dir: string, endings: readonly string[]): Source[] {
  return readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((path) => !path.includes("node_modules/"))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

/** Everything that git knows or would take in: no builds, no packages. Without git (an unpacked archive) what is not built here. */
export function repositoryFiles(): string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (status === 0) return stdout.split("\0").filter((path) => path !== "");
  const built = /(^|\/)(node_modules|build|dist|prebuilds|coverage|\.cache|\.git)\//;
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((path) => !built.test(path));
}

/** Calls `visit` for each node of the tree of a TypeScript file. */
export function walk(source: Source, visit: (node: Node) => void): void {
  const { program, errors } = parseSync(source.path, source.text, { lang: "ts" });
  if (errors.length > 0) throw new Error(`${source.path} does not parse: ${errors[0]?.message}`);
  visitAll(program, visit);
}

function visitAll(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) visitAll(item, visit);
  } else if (isNode(value)) {
    visit(value);
    for (const field of Object.values(value)) visitAll(field, visit);
  }
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

export function lineOf(source: Source, node: Node): string {
  return `${source.path}:${source.text.slice(0, node.start).split("\n").length}`;
}

export interface Import {
  readonly where: string;
  /** As written: "./a.js", "node:fs", "pino". */
  readonly specifier: string;
  /** Names as the other module calls them; none for `import * as`, `import()` and `export *`. */
  readonly names: readonly string[];
}

/** Every way of naming another module: import, export … from, import(), import type, import("…").T. */
export function importsOf(source: Source): Import[] {
  const found: Import[] = [];
  walk(source, (node) => {
    const literal = moduleNamed(node);
    if (!isNode(literal) || typeof literal.value !== "string") return;
    found.push({ where: lineOf(source, node), specifier: literal.value, names: namesOf(node) });
  });
  return found;
}

function moduleNamed(node: Node): unknown {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
    case "ImportExpression":
      return node.source;
    case "TSImportType":
      return node.source ?? node.argument;
    case "TSExternalModuleReference":
      return node.expression;
    default:
      return undefined;
  }
}

function namesOf(node: Node): string[] {
  const specifiers = Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : [];
  const names = specifiers.map((specifier) =>
    node.type === "ImportDeclaration" ? specifier.imported : specifier.local,
  );
  return names.filter(isNode).map((name) => String(name.name ?? name.value));
}
