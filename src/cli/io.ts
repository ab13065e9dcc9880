// What a verb has of the world: passed in, so that tests run verbs without a process of their own.

import { createReadStream, fstat } from "node:fs";
import { isatty } from "node:tty";
import { promisify } from "node:util";
import { Failed } from "./failure.js";
import { type ByteSink, DescriptorSink } from "./output.js";
import { type OnStopSignal, onProcessSignal } from "./stop.js";

export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Opens stdin. Called by a verb that reads it. */
  readonly stdin: () => Promise<Input>;
  readonly stdout: ByteSink;
  readonly stdoutIsTerminal: boolean;
  /** How wide the terminal is that shows stdout; undefined: it is none. */
  readonly stdoutColumns?: number;
  /** Everything that is no data. */
  readonly stderr: Messages;
  /** ^C and `kill`. As long as nobody listens they end the process at once. */
  readonly onStopSignal: OnStopSignal;
}

export interface Input {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** How many bytes there are, when it is a file. */
  readonly bytes: number | undefined;
}

export interface Messages {
  write(text: string): void;
  /** A person looks at it: progress may be shown. */
  readonly isTerminal: boolean;
  /** How wide that terminal is now; undefined: nobody knows. */
  readonly columns?: number;
}

const FILE_CHUNK_BYTES = 1024 * 1024;

export interface ProcessIo extends Io {
  readonly stdout: DescriptorSink;
}

/** The process's own. */
export function processIo(): ProcessIo {
  return {
    env: process.env,
    stdin: openStdin,
    stdout: new DescriptorSink(1),
    stdoutIsTerminal: isatty(1),
    stdoutColumns: isatty(1) ? columnsOf(process.stdout) : undefined,
    stderr: {
      write: (text) => void process.stderr.write(text),
      isTerminal: process.stderr.isTTY === true,
      get columns() {
        return columnsOf(process.stderr);
      },
    },
    onStopSignal: onProcessSignal,
  };
}

/** A terminal that was never told its size says 0. */
const columnsOf = ({ columns }: NodeJS.WriteStream): number | undefined => (columns > 0 ? columns : undefined);

async function openStdin(): Promise<Input> {
  const stats = await promisify(fstat)(0);
  // Node reads one as if nothing were in it, and the verb would say that all of it is done.
  if (stats.isDirectory()) throw new Failed("stdin is a directory: expected a file, a pipe or a terminal");
  // A pipe goes through process.stdin, which waits for it without holding one of libuv's few threads.
  if (!stats.isFile()) return { chunks: process.stdin, bytes: undefined };
  const chunks = createReadStream("", { fd: 0, highWaterMark: FILE_CHUNK_BYTES, autoClose: false });
  return { chunks, bytes: stats.size };
}
