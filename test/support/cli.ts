// The command `millrace` for tests: a verb in this process, or the program in one of its own.

import { type ChildProcess, spawn } from "node:child_process";
import type { EventEmitter } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { expect, onTestFinished } from "vitest";
import type { Io } from "../../src/cli/io.js";
import { ClosedPipe } from "../../src/cli/output.js";
import { runCli } from "../../src/cli/program.js";
import { packageRoot } from "../../src/native/load.js";

export interface VerbOptions {
  /** Pieces in which stdin comes. Default: none, and it ends at once. */
  readonly stdin?: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
  readonly env?: Readonly<Record<string, string>>;
  /** stderr is a terminal. */
  readonly terminal?: boolean;
  /** How wide it is. */
  readonly columns?: number;
  /** And stdout is, too. */
  readonly stdoutIsTerminal?: boolean;
  /** How many bytes stdin has, when it is a file. */
  readonly stdinBytes?: number;
  /** stdout's reader goes away after so many bytes. */
  readonly closeStdoutAfter?: number;
  /** Emits "signal" with the signal's name. */
  readonly signals?: EventEmitter;
}

export interface VerbResult {
  readonly code: number;
  readonly stdout: string;
  readonly bytes: Buffer;
  readonly stderr: string;
}

/** Runs a command line in this process. */
export async function millrace(args: readonly string[], options: VerbOptions = {}): Promise<VerbResult> {
  const pieces: Uint8Array[] = [];
  let written = 0;
  let stderr = "";
  const io: Io = {
    env: options.env ?? {},
    stdin: async () => ({ chunks: bytesOf(options.stdin ?? []), bytes: options.stdinBytes }),
    stdout: {
      write: async (bytes) => {
        written += bytes.length;
        if (written > (options.closeStdoutAfter ?? Number.POSITIVE_INFINITY)) throw new ClosedPipe();
        pieces.push(Uint8Array.from(bytes));
      },
    },
    stdoutIsTerminal: options.stdoutIsTerminal === true,
    stdoutColumns: options.stdoutIsTerminal === true ? options.columns : undefined,
    stderr: {
      write: (text) => {
        stderr += text;
      },
      isTerminal: options.terminal === true,
      columns: options.columns,
    },
    onStopSignal: (listener) => {
      options.signals?.on("signal", listener);
      return () => void options.signals?.off("signal", listener);
    },
  };
  const code = await runCli(args, io);
  const bytes = Buffer.concat(pieces);
  return { code, stdout: bytes.toString(), bytes, stderr };
}

/** The rows that --json prints. */
export function jsonRows<Row>(stdout: string): Row[] {
  expect(stdout === "" || stdout.endsWith("\n")).toBe(true);
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row);
}

async function* bytesOf(pieces: NonNullable<VerbOptions["stdin"]>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield typeof piece === "string" ? Buffer.from(piece) : piece;
}

let program: string | undefined;

/** The program, made from the sources as they are now. */
export function cliProgram(): string {
  if (program !== undefined) return program;
  const dir = join(packageRoot(), ".cache", "test");
  const path = join(dir, `cli-${process.pid}.mjs`);
  mkdirSync(dir, { recursive: true });
  buildSync({
    absWorkingDir: packageRoot(),
    entryPoints: ["src/cli.ts"],
    outfile: path,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    logLevel: "error",
  });
  process.once("exit", () => rmSync(path, { force: true }));
  program = path;
  return path;
}

/** A process of the command line. stdin is a pipe unless `stdin` is a descriptor. Killed after the test. */
export class CliProcess {
  stderr = "";
  readonly child: ChildProcess;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  private readonly pieces: Buffer[] = [];

  constructor(
    args: readonly string[],
    streams: { readonly stdin?: number; readonly stdout?: number } = {},
    program = cliProgram(),
  ) {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(MILLRACE_|NODE_|VITEST)/.test(name));
    this.child = spawn(process.execPath, [program, ...args], {
      env: Object.fromEntries(inherited),
      stdio: [streams.stdin ?? "pipe", streams.stdout ?? "pipe", "pipe"],
    });
    this.child.stdin?.on("error", () => undefined);
    this.child.stdout?.on("data", (chunk: Buffer) => this.pieces.push(chunk));
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    this.exited = new Promise((resolve) => {
      this.child.once("close", (code, signal) => resolve({ code, signal }));
    });
    onTestFinished(() => void this.child.kill("SIGKILL"));
  }

  get stdout(): Buffer {
    return Buffer.concat(this.pieces);
  }
}
