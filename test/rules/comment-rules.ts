// Where a comment must stand: at the top of each file (what it is for), before each limit (why it is what it is).

import type { Source, Violation } from "./sources.js";

export function missingHead({ path, text }: Source): Violation[] {
  const body = text.replace(/^#!.*\n/, "");
  return /^(\/\/ ?\S|\/\*)/.test(body) ? [] : [`${path}: begins without a comment that says what it is for`];
}

/** `export const X` needs `/** … *\/` just before it. */
export function undocumentedExports({ path, text }: Source): Violation[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    const name = /^export (?:const|function|class) (\w+)/.exec(line)?.[1];
    if (name === undefined || /\*\/\s*$/.test(lines[index - 1] ?? "")) return [];
    return [`${path}:${index + 1}: ${name} has no comment with its reason`];
  });
}
