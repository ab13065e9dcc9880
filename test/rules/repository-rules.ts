// Rules about the repository as a whole: what its documents say is there, and what must not have got into it.

import type { Source, Violation } from "./sources.js";

/** The folders and files of a layout drawn in a fenced block: lines of `indented/path  what it is`. */
export function drawnPaths(markdown: string, heading: string): string[] {
  const block = new RegExp(`^#+ ${heading}\\n.*?\`\`\`\\n(.*?)\`\`\``, "ms").exec(markdown)?.[1];
  if (block === undefined) throw new Error(`there is no drawn layout below "${heading}"`);
  const parents: string[] = [];
  return block.split("\n").flatMap((line) => {
    const match = /^( *)(\S+)/.exec(line);
    if (match === null) return [];
    const [, indent = "", name = ""] = match;
    parents.length = indent.length / 2;
    parents.push(name);
    return [parents.join("")];
  });
}

/** Targets of Markdown links that lie in the repository, without their anchors, as written. */
export function localLinks(markdown: string): string[] {
  const targets = [...markdown.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter((target) => !/^([a-z]+:|#)/.test(target)).map((target) => target.replace(/#.*$/, ""));
}

/** What exists only on the machine a change was written on. Spelled so that this file does not find itself. */
const private_ = [
  /\/home\/[a-z]/,
  /\/Users\/[A-Za-z]/,
  /\/wor[k]\//,
  /\/far[m]\//,
  /\/tmp\/m[r]\//,
  /registry\.npmj[s]/,
];

export function privatePaths({ path, text }: Source): Violation[] {
  return text.split("\n").flatMap((line, index) => {
    const found = private_.find((pattern) => pattern.test(line));
    return found === undefined ? [] : [`${path}:${index + 1}: ${found.exec(line)?.[0]}`];
  });
}

/** A lock file with addresses would send everybody to the registry that its writer used. */
export function lockedAddresses({ path, text }: Source): Violation[] {
  const packages = (JSON.parse(text) as { packages: Record<string, { resolved?: string }> }).packages;
  return Object.entries(packages)
    .filter(([, { resolved }]) => resolved !== undefined && /^(https?|git|ssh)/.test(resolved))
    .map(([name, { resolved }]) => `${path}: ${name} comes from ${resolved}`);
}

/** Versions of the tools whose next minor version may find other faults or format otherwise. */
export function unpinned(manifest: { devDependencies: Record<string, string> }, names: readonly string[]): Violation[] {
  return names
    .filter((name) => !/^\d/.test(manifest.devDependencies[name] ?? ""))
    .map((name) => `${name} is not pinned`);
}
