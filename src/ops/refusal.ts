// How a start that is refused is told: always one plain line for each thing to be changed, since a person reads it wherever
// stderr goes, and before it a JSON line for whoever collects those. On a terminal the JSON would only say it twice.

import { MillraceError, type MillraceErrorCode } from "../model/errors.js";
import type { Log } from "./log.js";

/** What somebody can do, where the sentence itself does not say it. */
const advice: Partial<Record<MillraceErrorCode, string>> = {
  DATA_DIR_IN_USE: "stop that one, or give this one another data.dir",
};

/** Settings that are not understood, or cannot hold together. */
export function tellWrongSettings(log: Log, problems: readonly string[]): void {
  if (!log.isTerminal) {
    log.fatal(
      { kind: "broker.not-started", code: "BAD_CONFIG", problems },
      `not started: ${problems.length === 1 ? "a setting is" : `${problems.length} settings are`} wrong`,
    );
  }
  log.plain(
    `${problems.map((problem) => `millrace: ${problem}\n`).join("")}millrace: not started; --help lists all settings\n`,
  );
}

/** Anything else that kept it from starting. */
export function tellNotStarted(log: Log, error: unknown): void {
  const what = error instanceof Error ? error.message : String(error);
  const todo = error instanceof MillraceError ? advice[error.code] : undefined;
  const message = todo === undefined ? what : `${what}; ${todo}`;
  if (!(error instanceof MillraceError)) {
    // Nobody foresaw it, so where it happened matters more than how it looks.
    log.fatal({ kind: "broker.not-started", err: error }, "not started");
  } else if (!log.isTerminal) {
    log.fatal({ kind: "broker.not-started", code: error.code }, `not started: ${message}`);
  }
  log.plain(`millrace: not started: ${message}\n`);
}
