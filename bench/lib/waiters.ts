// The program that waits (floor/waiters), step by step: it connects, asks when it is told, and ends all waits by publishing a record.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { endsWithUs } from "./children.js";
import { LOOPBACK_CONGESTION, type Stand } from "./stand.js";
import { argumentsOf, commandLine, type Flags, type Latency } from "./tools.js";

export interface WaitersSetup {
  readonly connections: number;
  /** Over all of them, several on one when there are more. */
  readonly fetches: number;
  readonly size: number;
}

export interface Woken {
  readonly answers: number;
  readonly seconds: number;
  /** From the sending of the record to each answer. */
  readonly latency: Latency;
  readonly cpuSeconds: number;
}

export const waitersCommand = (setup: WaitersSetup): string => commandLine("waiters", { ...setup });

export class Waiters {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;

  private constructor(child: ChildProcess, reader: Interface) {
    this.#child = endsWithUs(child);
    this.#reader = reader;
    this.#lines = reader[Symbol.asyncIterator]();
  }

  /** Resolves when all are connected. */
  static async open(stand: Stand, port: number, topic: string, setup: WaitersSetup): Promise<Waiters> {
    const flags: Flags = { port, topic, congestion: LOOPBACK_CONGESTION, ...setup };
    const child = spawn(stand.tools.paths.waiters, argumentsOf(flags), { stdio: ["pipe", "pipe", "inherit"] });
    const waiters = new Waiters(child, createInterface({ input: child.stdout }));
    await waiters.#expect("open");
    return waiters;
  }

  /** Resolves when all requests were handed to the kernel. */
  async ask(): Promise<void> {
    this.#tell("ask");
    await this.#expect("asked");
  }

  async publish(): Promise<Woken> {
    this.#tell("publish");
    return JSON.parse(await this.#line()) as Woken;
  }

  /** Throws when something was answered that should still wait. */
  async checkQuiet(): Promise<void> {
    this.#tell("quiet");
    await this.#expect("quiet");
  }

  async close(): Promise<void> {
    const ended = this.#child.exitCode === null ? once(this.#child, "exit") : undefined;
    this.#child.stdin?.end();
    await ended;
    this.#reader.close();
  }

  #tell(command: string): void {
    this.#child.stdin?.write(`${command}\n`);
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("the waiters have ended; what they said is above");
    return value;
  }

  async #expect(wanted: string): Promise<void> {
    const line = await this.#line();
    if (line !== wanted) throw new Error(`the waiters said ${line} and not ${wanted}`);
  }
}
