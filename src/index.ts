// What the package exports: the log in your own process. Nothing here has logic.

export { type AppendOptions, Log, openLog } from "./log/embedded.js";
export type { LogOptions } from "./log/embedded-options.js";
export type { ReadResult } from "./log/log-reader.js";
export { DamagedRecordError, type LogRecord } from "./log/stored-records.js";
export { MillraceError, type MillraceErrorCode } from "./model/errors.js";
export type { Offset } from "./model/ids.js";
