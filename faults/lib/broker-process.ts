// A real broker in its own process: started, awaited by its ready line, killed, stopped. Whoever starts one ends it.

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { Product } from "./rung.js";

export type Settings = Readonly<Record<string, string | number | boolean>>;

/** Small and without side effects: a rung adds what it is about. */
export const faultSettings = (dataDir: string): Settings => ({
  "data.dir": dataDir,
  port: 0,
  "ops.enabled": false,
  topics: "orders:1",
  "disk.reserve.bytes": 0,
  "segment.bytes": "16MiB",
});

export interface StartOptions {
  /** Before the program: strace and the like. */
  readonly wrapper?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly nodeFlags?: readonly string[];
  readonly cwd?: string;
  /** How long it may take to be ready. Default 60 s: longer is a hang. */
  readonly readyMs?: number;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** It ended, or did not get ready in time. `ended` is undefined for the latter. */
export class NotReadyError extends Error {
  override readonly name = "NotReadyError";
  constructor(
    message: string,
    readonly ended: Ended | undefined,
    readonly stderr: string,
  ) {
    super(message);
  }
}

const READY_MS = 60_000;
/** Of what it says; a broker that fills a disk with its log must not fill our memory. */
const KEPT_CHARACTERS = 4_000_000;

/** What still runs: ended with this process, whatever ends it. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export class BrokerProcess {
  /** Of the ready line. */
  port = 0;
  /** 0: it has no side port. */
  opsPort = 0;
  /** From the start of the process to its ready line. */
  readyMs = 0;
  stdout = "";
  stderr = "";
  readonly exited: Promise<Ended>;
  #ended: Ended | undefined;

  private constructor(readonly child: ChildProcess) {
    running.add(child);
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr = (this.stderr + text).slice(-KEPT_CHARACTERS);
    });
    this.exited = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => {
        running.delete(child);
        this.#ended = { code, signal };
        resolve(this.#ended);
      });
    });
    this.exited.catch(() => undefined);
  }

  /** Starts it and does not wait: for a broker that is to be killed while it starts. */
  static spawn(product: Product, settings: Settings, options: StartOptions = {}): BrokerProcess {
    const { wrapper = [], nodeFlags = [], environment = {} } = options;
    const program = join(product.dist, "broker.js");
    const [command, ...rest] = [...wrapper, process.execPath, ...nodeFlags, program, ...flagsOf(settings)];
    // Nothing of this process's own settings.
    const inherited = Object.entries(process.env).filter(([name]) => !/^(MILLRACE_|NODE_|VITEST)/.test(name));
    const child = spawn(command, rest, {
      cwd: options.cwd ?? String(settings["data.dir"] ?? "."),
      env: { ...Object.fromEntries(inherited), ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    return new BrokerProcess(child);
  }

  /** Resolves when it can take connections. Rejects NotReadyError, with its words; then it does not run. */
  static async start(product: Product, settings: Settings, options: StartOptions = {}): Promise<BrokerProcess> {
    return BrokerProcess.spawn(product, settings, options).ready(options.readyMs);
  }

  async ready(readyMs = READY_MS): Promise<this> {
    const began = performance.now();
    while (!this.stdout.includes("\n")) {
      const late = performance.now() - began > readyMs;
      if (late || this.#ended !== undefined) {
        const ended = this.#ended;
        if (ended === undefined) await this.kill();
        const how = ended === undefined ? `gave no ready line in ${readyMs} ms` : `ended with ${shownEnd(ended)}`;
        throw new NotReadyError(`the broker ${how}: ${this.stderr.slice(-2000)}`, ended, this.stderr);
      }
      await Promise.race([this.exited, new Promise((resolve) => setTimeout(resolve, 2))]);
    }
    this.readyMs = performance.now() - began;
    const [, port, ops] = / port=(\d+) ops=(\d+|off) /.exec(this.stdout) ?? [];
    this.port = Number(port);
    this.opsPort = ops === "off" ? 0 : Number(ops);
    return this;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** How it ended, or undefined while it runs. */
  get ended(): Ended | undefined {
    return this.#ended;
  }

  /** Its log lines; what is no JSON is left out. */
  get lines(): readonly LogLine[] {
    return this.stderr.split("\n").flatMap((line) => {
      try {
        return [JSON.parse(line) as LogLine];
      } catch {
        return [];
      }
    });
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** kill -9; resolves when it is gone. */
  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }

  /** The clean stop. One that does not end is killed, and that shows in what it resolves to. */
  async stop(stopMs = 60_000): Promise<Ended> {
    const late = setTimeout(() => this.child.kill("SIGKILL"), stopMs);
    this.child.kill("SIGTERM");
    const ended = await this.exited;
    clearTimeout(late);
    return ended;
  }
}

export interface LogLine {
  readonly level: string;
  readonly kind?: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export const shownEnd = ({ code, signal }: Ended): string => (signal === null ? `code ${code}` : signal);

export function flagsOf(settings: Settings): string[] {
  return Object.entries(settings).map(([key, value]) => `--${key.replaceAll(".", "-")}=${value}`);
}
