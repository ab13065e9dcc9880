// How a verb ends other than well: exit codes, and what a person reads.

import { LogTruncatedError } from "../client/errors.js";
import { MillraceError } from "../model/errors.js";

export const Exit = { OK: 0, FAILED: 1, USAGE: 2 } as const;
export type Exit = (typeof Exit)[keyof typeof Exit];

/** Something that the verb was asked to do did not work. The message says what happened, and what to do if there is anything. */
export class Failed extends Error {
  /** Lines that follow the message. */
  constructor(
    message: string,
    readonly details: readonly string[] = [],
  ) {
    super(message);
  }
}

/** The command line asks for something that cannot be. */
export class Usage extends Error {}

/** Below what is wrong with a command line. */
export const HELP_HINT = "`--help` shows how it is used";

/** The text for stderr. */
export function failureText(error: unknown): string {
  if (error instanceof Failed) return messageText(error.message, error.details);
  if (error instanceof Usage) return messageText(error.message, [HELP_HINT]);
  if (error instanceof MillraceError) return messageText(error.message, advice(error));
  // A system error says which call failed on which path.
  if (error instanceof Error && "syscall" in error) return messageText(error.message, []);
  // A bug: all there is.
  return messageText(error instanceof Error ? (error.stack ?? error.message) : String(error), []);
}

export const exitOf = (error: unknown): Exit => (error instanceof Usage ? Exit.USAGE : Exit.FAILED);

/** A message and what belongs to it, for stderr. */
export function messageText(first: string, rest: readonly string[]): string {
  return [`millrace: ${first}`, ...rest.map((line) => `  ${line}`), ""].join("\n");
}

/** What to do about it. */
export function advice(error: MillraceError): string[] {
  if (error instanceof LogTruncatedError) {
    return [`\`--partition ${error.partition} --from ${error.epochStart}\` reads what stands there now`];
  }
  // A connection that is lost because of what came on it: the cause says more.
  if (error.cause instanceof MillraceError) return advice(error.cause);
  switch (error.code) {
    case "CONNECTION_FAILED":
      return [
        "is a broker running there? `npm start` or `millrace serve` starts one; --broker or MILLRACE_BROKER says where it is",
      ];
    case "UNKNOWN_TOPIC_OR_PARTITION":
      return ["`millrace topics` lists what there is"];
    case "BAD_RESPONSE":
      return ["is that the port of a millrace broker? (4710 unless it was told otherwise; 4711 is its side port)"];
    case "REQUEST_TIMEOUT":
      return ["the broker accepts connections and does not answer: its log may say why"];
    case "RECORD_EXCEEDS_MAX_BYTES":
      return ["a larger --max-bytes reads it"];
    case "PARTITION_IN_USE":
      return ["stop that process first: a partition has one writer at a time"];
    case "STORAGE_FAILURE":
      return [
        "the broker's log says what failed, and /readyz on its side port which partitions do not serve;",
        "`millrace verify DIR` on the broker's machine checks what is stored",
      ];
    case "CORRUPT_RECORD":
      return ["`millrace verify DIR` on the broker's machine checks what is stored"];
    case "OFFSET_OUT_OF_RANGE":
      return ["`millrace topics TOPIC` shows where each partition starts and ends"];
    default:
      return [];
  }
}
