// What TypeScript needs to know of command-line.mjs.

export class UsageError extends Error {}

/** Titles of the questions by name, in the order in which they are asked. */
export const QUESTIONS: Readonly<Record<string, string>>;
export const PEERS: readonly ("redis" | "nats" | "kafka")[];

interface Measuring {
  readonly names: readonly string[];
  readonly quick: boolean;
  readonly rounds: number;
  /** As it was given. Undefined: the usual one. */
  readonly directory?: string;
  /** Whether pages in docs/ may be written. */
  readonly report: boolean;
}

export interface RunCommand extends Measuring {
  readonly command: "run";
  readonly full: boolean;
  readonly check: boolean;
  readonly record: boolean;
}

export interface PeersCommand extends Measuring {
  readonly command: "peers";
}

export interface ReportCommand {
  readonly command: "report";
  readonly files: readonly string[];
  readonly report: boolean;
}

export type Command = RunCommand | PeersCommand | ReportCommand | { readonly command: "fetch" | "help" };

/** Behind what is wrong with a command line. */
export const HINT: string;
export function usage(): string;
/** Throws {@link UsageError}. */
export function parseCommandLine(argv: readonly string[]): Command;
