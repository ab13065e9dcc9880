// Lines for the operator: JSON on stderr, by pino. A failure that millrace has a name for is told by its name and its
// sentence; a stack is for those that nobody expected.

import { pino, stdSerializers } from "pino";
import type { OperatorLog } from "../broker/options.js";
import { MillraceError } from "../model/errors.js";
import { StderrLines } from "./stderr-lines.js";

export interface Log extends OperatorLog {
  /** Whether a person sees the lines as they come. */
  readonly isTerminal: boolean;
  fatal(fields: object, message: string): void;
  /** Text for a person, in its place among the lines. */
  plain(text: string): void;
  /** Before the process ends: what waits for a reader gets a moment. */
  flush(): Promise<void>;
  /** The same where nothing else may run any more: the last line at least. */
  flushNow(): void;
}

export function openLog(level: string): Log {
  const lines = new StderrLines((dropped) =>
    logger.warn({ kind: "log.dropped", lines: dropped }, "lines were dropped: nobody read stderr for a while"),
  );
  const logger = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describe },
    },
    lines,
  );
  return {
    isTerminal: lines.isTerminal,
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    fatal: (fields, message) => logger.fatal(fields, message),
    plain: (text) => lines.write(text),
    flush: () => lines.flush(),
    flushNow: () => lines.lastNow(),
  };
}

function describe(error: unknown): unknown {
  if (!(error instanceof MillraceError)) return error instanceof Error ? stdSerializers.err(error) : error;
  const { code, message, cause } = error;
  return cause === undefined ? { code, message } : { code, message, cause: reason(cause) };
}

/** Why something failed that is named already: one line, down to the first cause. */
function reason(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause === undefined ? cause.message : `${cause.message}: ${reason(cause.cause)}`;
}

/** For programs that start a broker and want no lines. */
export const silentLog: OperatorLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
