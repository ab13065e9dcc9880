// What stands below a verb's options in its --help: paragraphs that are wrapped to the window, and examples that are not.

import type { Io } from "./io.js";

/** Of help that goes to no terminal. */
export const HELP_COLUMNS = 100;

/** For commander's `addHelpText`. Lines that begin with a space, or end with a colon, stay as they are. */
export function helpText({ stdoutColumns = HELP_COLUMNS }: Pick<Io, "stdoutColumns">, text: string): () => string {
  return () => wrapped(text, stdoutColumns);
}

function wrapped(text: string, columns: number): string {
  const out: string[] = [];
  let words: string[] = [];
  const end = (): void => {
    if (words.length > 0) out.push(...filled(words, columns));
    words = [];
  };
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith(" ") || line.endsWith(":")) {
      end();
      out.push(line);
    } else words.push(...line.split(" "));
  }
  end();
  return out.join("\n");
}

function filled(words: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    if (line !== "" && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
