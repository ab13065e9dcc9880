// What may not be written, and where it may nevertheless, with the reason. Pure: a file in, violations out.

import { importsOf, isNode, lineOf, type Node, type Source, type Violation, walk } from "./sources.js";

/** Files that may call what blocks. Anything else would stop the event loop, and with it every connection. */
export const blockingAllowed: ReadonlyMap<string, string> = new Map([
  ["src/native/load.ts", "finds the addon once, before there is a loop to stop"],
  ["src/native/whole-elf.ts", "looks at the addon once, before it is loaded"],
  ["src/ops/settings/sources.ts", "reads the settings file before anything listens"],
  ["src/ops/ephemeral.ts", "removes its directory when the process ends and no loop will run again"],
  ["src/ops/stderr-lines.ts", "writes the last lines when the process ends and no loop will run again"],
]);

export function bannedSyntax(source: Source): Violation[] {
  const found: Violation[] = [];
  walk(source, (node) => {
    if (node.type === "TSAnyKeyword") found.push(`${lineOf(source, node)}: any`);
    if (node.type === "ExportDefaultDeclaration" || exportsDefault(node))
      found.push(`${lineOf(source, node)}: default export`);
    if (node.type === "TSEnumDeclaration") found.push(`${lineOf(source, node)}: enum`);
  });
  return found;
}

function exportsDefault(node: Node): boolean {
  return node.type === "ExportSpecifier" && isNode(node.exported) && node.exported.name === "default";
}

const blockingModules = /^node:(fs|child_process|zlib|crypto)$/;

/** Names that end in Sync, imported or called as a member: `readFileSync`, `fs.readFileSync`. */
export function blockingCalls(source: Source): Violation[] {
  const found = importsOf(source)
    .filter(({ specifier }) => blockingModules.test(specifier))
    .flatMap(({ where, names }) =>
      names.filter((name) => name.endsWith("Sync")).map((name) => `${where}: ${name} blocks`),
    );
  walk(source, (node) => {
    const name = memberName(node);
    if (name?.endsWith("Sync")) found.push(`${lineOf(source, node)}: ${name} blocks`);
  });
  return found;
}

const timers = new Set(["setTimeout", "setInterval", "setImmediate"]);

/** Timers, and the modules they come from. */
export function timerUses(source: Source): Violation[] {
  const found = importsOf(source)
    .filter(({ specifier }) => /^node:timers(\/promises)?$/.test(specifier))
    .map(({ where }) => `${where}: a timer`);
  walk(source, (node) => {
    const name = calledName(node);
    if (name !== undefined && timers.has(name)) found.push(`${lineOf(source, node)}: ${name}`);
  });
  return found;
}

/** `Date.now()` and `new Date()` without an argument. */
export function clockReadings(source: Source): Violation[] {
  const found: Violation[] = [];
  walk(source, (node) => {
    const now = memberName(node) === "now" && isNamed(node.object, "Date");
    const date = node.type === "NewExpression" && isNamed(node.callee, "Date") && isEmpty(node.arguments);
    if (now || date) found.push(`${lineOf(source, node)}: reads the clock; take a Clock (model/clock.ts)`);
  });
  return found;
}

function memberName(node: Node): string | undefined {
  return node.type === "MemberExpression" && isNode(node.property) ? String(node.property.name) : undefined;
}

function calledName(node: Node): string | undefined {
  if (node.type !== "CallExpression" || !isNode(node.callee)) return undefined;
  return node.callee.type === "Identifier" ? String(node.callee.name) : memberName(node.callee);
}

const isNamed = (value: unknown, name: string): boolean =>
  isNode(value) && value.type === "Identifier" && value.name === name;
const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
