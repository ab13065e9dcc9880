// Brokers for tests: in this process, or as a real one that can be killed.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { afterAll, onTestFinished } from "vitest";
import { packageRoot } from "../../src/native/load.js";
import type { BrokerSettings } from "../../src/ops/settings/broker-settings.js";
import { type RunningBroker, startBroker } from "../../src/ops/start-broker.js";
import { tempDir } from "./tmp.js";
import { Wire } from "./wire.js";

/** Settings that make a broker small and let many run beside each other. */
export const testSettings = (dataDir: string) =>
  ({
    "data.dir": dataDir,
    port: 0,
    "ops.enabled": false,
    topics: "orders:1",
    "disk.reserve.bytes": 0,
    "segment.bytes": "16MiB",
  }) satisfies BrokerSettings;

/** A broker in this process, stopped after the test. */
export async function runBroker(settings: BrokerSettings = {}): Promise<RunningBroker> {
  const broker = await startBroker({ settings: { ...testSettings(tempDir("broker")), ...settings } });
  onTestFinished(async () => {
    await broker.stop();
  });
  return broker;
}

/** A connection to it, closed after the test. */
export async function connectTo({ port }: { readonly port: number }): Promise<Wire> {
  const wire = await Wire.connect(port);
  onTestFinished(() => wire.destroy());
  return wire;
}

let program: string | undefined;

/** The broker's program, made from the sources as they are now. */
export function brokerProgram(): string {
  if (program !== undefined) return program;
  const dir = join(packageRoot(), ".cache", "test");
  const path = join(dir, `broker-${process.pid}.mjs`);
  mkdirSync(dir, { recursive: true });
  buildSync({
    absWorkingDir: packageRoot(),
    entryPoints: ["src/main.ts"],
    outfile: path,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    logLevel: "error",
  });
  program = path;
  return path;
}

// Not at the process's exit: a test runner's worker is ended without one.
afterAll(() => {
  if (program !== undefined) rmSync(program, { force: true });
  program = undefined;
});

export interface LogLine {
  readonly level: string;
  readonly kind?: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A broker in its own process. */
export class BrokerProcess {
  stdout = "";
  stderr = "";
  /** Of the ready line. */
  port = 0;
  opsPort = 0;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;

  constructor(readonly child: ChildProcess) {
    child.stdout?.on("data", (chunk: Buffer) => {
      this.stdout += chunk.toString();
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    this.exited = new Promise((resolve) => {
      child.once("close", (code, signal) => resolve({ code, signal }));
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** What it logged; lines that are not JSON are left out. */
  get lines(): LogLine[] {
    return this.stderr.split("\n").flatMap((line) => {
      try {
        return [JSON.parse(line) as LogLine];
      } catch {
        return [];
      }
    });
  }

  /** Waits for the ready line. Rejects with what it said when it ends instead. */
  async ready(): Promise<this> {
    const ended = this.exited.then(({ code }) => {
      throw new Error(`the broker ended with ${code}: ${this.stderr}`);
    });
    ended.catch(() => undefined);
    while (!this.stdout.includes("\n")) {
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5))]);
    }
    const [, port, ops] = / port=(\d+) ops=(\d+|off) /.exec(this.stdout) ?? [];
    this.port = Number(port);
    this.opsPort = ops === "off" ? 0 : Number(ops);
    return this;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async stop(): Promise<number | null> {
    this.kill("SIGTERM");
    return (await this.exited).code;
  }

  /** Memory of the process that is in use, in bytes. */
  rss(): number {
    return procStatus(this.pid, "VmRSS");
  }

  /** Open sockets: connections and listeners. */
  sockets(): number {
    const dir = `/proc/${this.pid}/fd`;
    const isSocket = (name: string): boolean => {
      try {
        return readlinkSync(join(dir, name)).startsWith("socket:");
      } catch {
        return false; // closed since
      }
    };
    return readdirSync(dir).filter(isSocket).length;
  }

  peakRss(): number {
    return procStatus(this.pid, "VmHWM");
  }

  /** How long the event loop's thread has run so far, in milliseconds; not how long it waited for a processor. */
  loopCpuMs(): number {
    const [ran] = readFileSync(`/proc/${this.pid}/task/${this.pid}/schedstat`, "utf8").split(" ");
    return Number(ran) / 1e6;
  }
}

function procStatus(pid: number, name: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  if (match === null) throw new Error(`/proc/${pid}/status has no ${name}`);
  return Number(match[1]) * 1024;
}

export interface SpawnOptions {
  /** Before the program: strace and the like. */
  readonly wrapper?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly nodeFlags?: readonly string[];
}

/** Starts the program with these arguments and nothing of this process's own settings. Killed after the test. */
export function spawnBroker(args: readonly string[], options: SpawnOptions = {}): BrokerProcess {
  const { wrapper = [], environment = {}, nodeFlags = [] } = options;
  const [command, ...rest] = [...wrapper, process.execPath, ...nodeFlags, brokerProgram(), ...args];
  const inherited = Object.entries(process.env).filter(([name]) => !/^(MILLRACE_|NODE_|VITEST)/.test(name));
  const child = spawn(command, rest, {
    cwd: options.cwd ?? tempDir("cwd"),
    env: { ...Object.fromEntries(inherited), ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return new BrokerProcess(child);
}

/** Flags for {@link spawnBroker}. */
export function flags(settings: Record<string, unknown>): string[] {
  return Object.entries(settings).map(([key, value]) => `--${key.replaceAll(".", "-")}=${value}`);
}

export async function spawnReady(settings: Record<string, unknown>, options?: SpawnOptions): Promise<BrokerProcess> {
  return spawnBroker(flags(settings), options).ready();
}
