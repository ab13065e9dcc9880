// A server under test in its own process: the broker or the floor. Started on a free port, stopped by its pid, with its processor time.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { endsWithUs } from "./children.js";
import { cpuOf } from "./cpu.js";

const READY_MS = 60_000;
const STOP_MS = 60_000;

export class ServerProcess {
  readonly port: number;
  /** 0: it has no side port. */
  readonly opsPort: number;
  readonly pid: number;
  /** From the start of the process to its ready line. */
  readonly readyMs: number;
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;

  private constructor(child: ChildProcess, exit: Promise<unknown>, ready: string, port: number, readyMs: number) {
    this.#child = child;
    this.#exit = exit;
    this.pid = child.pid as number;
    this.port = port;
    this.opsPort = Number(/\bops=(\d+)/.exec(ready)?.[1] ?? 0);
    this.readyMs = readyMs;
  }

  /** Resolves when the server has printed its ready line (`… ready … port=N …`). */
  static async start(command: string, args: readonly string[]): Promise<ServerProcess> {
    const began = performance.now();
    const child = endsWithUs(spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] }));
    const exit = once(child, "exit");
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-4000);
    });
    const lines = createInterface({ input: child.stdout });
    const ready = new Promise<ServerProcess>((resolve, reject) => {
      const tooLate = setTimeout(() => reject(new Error(`no ready line within ${READY_MS} ms:\n${said}`)), READY_MS);
      lines.on("line", (line) => {
        const port = /ready .*\bport=(\d+)/.exec(line)?.[1];
        if (port === undefined) return;
        clearTimeout(tooLate);
        resolve(new ServerProcess(child, exit, line, Number(port), performance.now() - began));
      });
      exit.then(
        ([code, signal]) => {
          clearTimeout(tooLate);
          reject(new Error(`${command} ended with ${code ?? signal} before it was ready:\n${said}`));
        },
        (cause: unknown) => {
          clearTimeout(tooLate);
          reject(cause);
        },
      );
    });
    return ready.catch((error: unknown) => {
      child.kill("SIGKILL");
      throw error;
    });
  }

  /** User and system seconds so far, all threads. */
  async cpuSeconds(): Promise<number> {
    const { user, system } = await cpuOf(this.pid);
    return user + system;
  }

  /** The clean stop; killed when it takes too long. Resolves to the milliseconds it took. */
  async stop(): Promise<number> {
    const began = performance.now();
    const late = setTimeout(() => this.#child.kill("SIGKILL"), STOP_MS);
    this.#child.kill("SIGTERM");
    await this.#exit;
    clearTimeout(late);
    return performance.now() - began;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exit;
  }
}
