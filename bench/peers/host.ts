// Lends a running server to a sample: a fresh one for each on an empty directory, or, where starting and getting warm takes long, one for a
// whole case with a topic of its own for each sample. When it is closed, neither process nor file is left.

import { rmSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Stand, warmMemory } from "../lib/stand.js";
import type { At } from "./peer.js";

/** Directories of servers that run now: a bench that is ended in the middle takes them with it, as it does the servers. */
const living = new Set<string>();
process.once("exit", () => {
  // What a server that has just been killed still had open comes and goes for a moment.
  for (const directory of living) rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
});

/** What a sample stores, about. */
const SAMPLE_BYTES = 256 << 20;

export interface HostedServer {
  readonly port: number;
  readonly pid: number;
  readonly kill: () => Promise<void>;
}

export interface Lease extends At {
  readonly pid: number;
}

export interface Hosting {
  readonly start: (directory: string) => Promise<HostedServer>;
  readonly lasting: boolean;
  /** Names of topics, where each sample shall have its own. */
  readonly topic: (sample: number) => string;
  /** Done once with each server before its first sample: to get it warm, to fill its log. */
  readonly prepare?: (lease: Lease) => Promise<void>;
}

interface Running {
  readonly server: HostedServer;
  readonly directory: string;
}

export class Host {
  #running: Running | undefined;
  #samples = 0;

  constructor(
    private readonly stand: Stand,
    private readonly hosting: Hosting,
  ) {}

  async lend<T>(action: (lease: Lease) => Promise<T>): Promise<T> {
    await warmMemory(this.stand, SAMPLE_BYTES);
    this.#running ??= await this.#start();
    try {
      return await action(this.#lease(this.#running, this.#samples++));
    } finally {
      if (!this.hosting.lasting) await this.close();
    }
  }

  async close(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (running === undefined) return;
    await running.server.kill();
    await remove(running.directory);
  }

  async #start(): Promise<Running> {
    await mkdir(this.stand.directory, { recursive: true });
    const directory = await mkdtemp(join(this.stand.directory, "peer-"));
    living.add(directory);
    let server: HostedServer | undefined;
    try {
      server = await this.hosting.start(join(directory, "data"));
      await mkdir(join(directory, "tool"));
      await this.hosting.prepare?.(this.#lease({ server, directory }, 0));
      return { server, directory };
    } catch (error) {
      await server?.kill();
      await remove(directory);
      throw error;
    }
  }

  #lease({ server, directory }: Running, sample: number): Lease {
    const topic = this.hosting.topic(sample);
    return { port: server.port, pid: server.pid, topic, directory: join(directory, "tool") };
  }
}

async function remove(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  living.delete(directory);
}
