// A peer's server as a process: started on a port of the loopback that was free, ready when it takes connections, gone afterwards.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { endsWithUs } from "../lib/children.js";
import { cpuOf } from "../lib/cpu.js";

const READY_MS = 60_000;
const LOOK_MS = 20;

/** A peer cannot say which port it has taken, so it is given one. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const takesConnections = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });

export interface PeerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly port: number;
}

export class PeerProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;

  private constructor(
    child: ChildProcess,
    readonly port: number,
    exit: Promise<unknown>,
  ) {
    this.#child = child;
    this.#exit = exit;
  }

  /** Resolves when it takes connections; rejects with what it said when it ends before, or takes too long. */
  static async start({ command, args, env, port }: PeerCommand): Promise<PeerProcess> {
    const child = endsWithUs(spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] }));
    let said = "";
    let ended: string | undefined;
    const hear = (text: string): void => {
      said = (said + text).slice(-4000);
    };
    child.stdout.setEncoding("utf8").on("data", hear);
    child.stderr.setEncoding("utf8").on("data", hear);
    const exit = new Promise<void>((resolve) => {
      const end = (why: string): void => {
        ended = why;
        resolve();
      };
      child.once("error", (error) => end(error.message));
      child.once("exit", (code, signal) => end(`it ended with ${code ?? signal}`));
    });
    const server = new PeerProcess(child, port, exit);
    const late = performance.now() + READY_MS;
    while (!(await takesConnections(port))) {
      if (ended !== undefined) throw new Error(`${command} did not start: ${ended}\n${said}`);
      if (performance.now() > late) {
        await server.kill();
        throw new Error(`${command} takes no connections after ${READY_MS} ms\n${said}`);
      }
      await sleep(LOOK_MS);
    }
    return server;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** User and system seconds so far, all threads. */
  async cpuSeconds(): Promise<number> {
    const { user, system } = await cpuOf(this.pid);
    return user + system;
  }

  /** Its directory goes with it: there is nothing that it should still write. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exit;
  }
}
