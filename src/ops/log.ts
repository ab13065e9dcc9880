// Lines for the operator: JSON on stderr. Written by another thread, so that a reader of stderr that stalls does not stop
// the event loop; what is not written yet goes out by `flush` before the process ends.

import { pino } from "pino";
import type { OperatorLog } from "../broker/options.js";
import { LOG_QUEUE_BYTES_MAX } from "../model/limits.js";

const STDERR = 2;

export interface Log extends OperatorLog {
  fatal(fields: object, message: string): void;
  flush(): void;
}

export function openLog(level: string): Log {
  const destination = pino.destination({ dest: STDERR, sync: false, maxLength: LOG_QUEUE_BYTES_MAX });
  // Nobody is left to be told when stderr itself is gone; the broker goes on without it.
  destination.on("error", () => undefined);
  const logger = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    fatal: (fields, message) => logger.fatal(fields, message),
    flush: () => {
      try {
        destination.flushSync();
      } catch {
        // Not open, or closed by its reader: the lines have nowhere to go.
      }
    },
  };
}

/** For programs that start a broker and want no lines. */
export const silentLog: OperatorLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
