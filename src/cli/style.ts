// Colours, where a person looks and has not said NO_COLOR. They say nothing that the words beside them do not.

import type { Io } from "./io.js";

export type Style = (text: string) => string;

export interface Styles {
  readonly good: Style;
  readonly bad: Style;
  readonly faint: Style;
  readonly strong: Style;
}

const PLAIN: Styles = { good: (text) => text, bad: (text) => text, faint: (text) => text, strong: (text) => text };
const sgr =
  (code: number): Style =>
  (text) =>
    `\x1b[${code}m${text}\x1b[0m`;
const COLOURED: Styles = { good: sgr(32), bad: sgr(31), faint: sgr(2), strong: sgr(1) };

/** For stdout. NO_COLOR counts when it is not empty (no-color.org). */
export function stylesOf({ env, stdoutIsTerminal }: Pick<Io, "env" | "stdoutIsTerminal">): Styles {
  return stdoutIsTerminal && !env.NO_COLOR && env.TERM !== "dumb" ? COLOURED : PLAIN;
}
