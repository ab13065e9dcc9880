// The code blocks of a document, and what stands before each: a comment `<!-- not run: … -->` with the reason says that it is an
// example that no test carries out. It runs nothing.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../rules/sources.js";

export interface Block {
  readonly page: string;
  /** Of its first fence, from 1 on. */
  readonly line: number;
  /** What stands behind the fence: "console", "ts", … or nothing. */
  readonly language: string;
  readonly text: string;
  /** Why it is not run, if it says so. */
  readonly notRun: string | undefined;
}

export const blocksOf = (page: string): Block[] => blocksIn(page, readFileSync(join(root, page), "utf8"));

/** A fence that is indented belongs to a list and is a block all the same. */
const FENCE = /^[ \t]*(`{3,}|~{3,})[ \t]*([\w-]*)[^\n]*$/;
const NOT_RUN = /^<!-- not run: (\S.*) -->$/;

/** Throws when a block has no end. */
export function blocksIn(page: string, text: string): Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, fence = "", language = ""] = FENCE.exec(lines[at]) ?? [];
    if (fence === "") continue;
    const end = lines.findIndex((line, i) => i > at && line.trim() === fence);
    if (end < 0) throw new Error(`${page}:${at + 1}: a block without an end`);
    blocks.push({
      page,
      line: at + 1,
      language,
      text: lines.slice(at + 1, end).join("\n"),
      notRun: NOT_RUN.exec(lineBefore(lines, at))?.[1],
    });
    at = end;
  }
  return blocks;
}

/** The last line before that says something. */
function lineBefore(lines: readonly string[], at: number): string {
  let before = at - 1;
  while (before >= 0 && lines[before].trim() === "") before--;
  return lines[before] ?? "";
}

/** Commands of a `console` block, each with the lines that it prints. */
export interface Command {
  readonly command: string;
  readonly prints: readonly string[];
}

export function commandsOf(block: Block): Command[] {
  return block.text
    .split(/^\$ /m)
    .slice(1)
    .map((entry) => {
      const [command = "", ...prints] = entry.trimEnd().split("\n");
      return { command, prints };
    });
}
