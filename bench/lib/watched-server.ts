// A broker under test that can be asked what it counted and how its loop did (sides/watched-broker.ts), in its own process.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { endsWithUs } from "./children.js";
import type { WatchedLook } from "./loop-watch.js";
import type { Stand } from "./stand.js";

const READY_MS = 60_000;
/** Often enough that cold-reader drops what was read before it is read again: a pass over its log takes longer. */
const LOOK_EVERY_MS = 250;

export interface WatchedSettings {
  readonly [key: string]: string | number | boolean;
}

export class WatchedServer {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;

  private constructor(
    child: ChildProcess,
    readonly port: number,
  ) {
    this.#child = child;
    this.#exit = once(child, "exit");
  }

  /** `loop`: watch the event loop; a timer of a millisecond does it. */
  static async start(stand: Stand, settings: WatchedSettings, { loop }: { loop: boolean }): Promise<WatchedServer> {
    const program = join(stand.root, ".cache", "bench", "js", "sides", "watched-broker.js");
    // V8 tidies its memory up some 8 and 16 seconds after it was last used: that would be all there is to see of an idle broker.
    const args = [
      "--expose-gc",
      "--no-memory-reducer",
      program,
      JSON.stringify({ port: 0, "ops.enabled": false, ...settings }),
    ];
    const child = endsWithUs(
      spawn(process.execPath, loop ? [...args, "--loop"] : args, { stdio: ["ignore", "pipe", "inherit", "ipc"] }),
    );
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => fail(new Error(`no ready line within ${READY_MS} ms`)), READY_MS);
      const fail = (error: Error): void => {
        clearTimeout(late);
        child.kill("SIGKILL");
        reject(error);
      };
      child.once("error", fail);
      child.once("exit", (code) => fail(new Error(`the watched broker ended with ${code} before it was ready`)));
      if (child.stdout === null) return;
      createInterface({ input: child.stdout }).on("line", (line) => {
        const port = /ready .*\bport=(\d+)/.exec(line)?.[1];
        if (port === undefined) return;
        clearTimeout(late);
        child.removeAllListeners("exit");
        resolve(new WatchedServer(child, Number(port)));
      });
    });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Counted since the start; seen of the loop since the last look. */
  look(): Promise<WatchedLook> {
    return this.#ask("look");
  }

  /** The same after a collection, so that memory is what is held. */
  lookCollected(): Promise<WatchedLook> {
    return this.#ask("collect");
  }

  async #ask(what: "look" | "collect"): Promise<WatchedLook> {
    const answer = once(this.#child, "message");
    this.#child.send(what);
    const [look] = await answer;
    return look as WatchedLook;
  }

  /** Seconds of processor time of all threads so far, to the nanosecond: /proc/PID/stat counts in hundredths of a second. */
  async cpuSeconds(): Promise<number> {
    return threadsCpuSeconds(this.pid);
  }

  /**
   * What was longest of the loop while `load` ran, asked for again and again: at the end alone a broker that died would have no answer. `seen` gets
   * each look.
   */
  async pausesDuring(
    load: Promise<unknown>,
    seen: (look: WatchedLook) => Promise<void> | void = () => undefined,
  ): Promise<Readonly<Record<string, number>>> {
    const worst = { longestMs: 0, longestRunMs: 0, longestBlockedMs: 0, longestQueuedMs: 0 };
    const keys = Object.keys(worst) as (keyof typeof worst)[];
    for (let going = true; going; ) {
      going = await Promise.race([load.then(() => false), sleep(LOOK_EVERY_MS, true)]);
      const look = await this.look();
      for (const key of keys) worst[key] = Math.max(worst[key], look.loop?.[key] ?? Number.NaN);
      await seen(look);
    }
    return {
      "longest pause ms": worst.longestMs,
      "longest pass ms": worst.longestRunMs,
      "longest block ms": worst.longestBlockedMs,
      "longest wait for a processor ms": worst.longestQueuedMs,
    };
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#exit;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exit;
  }
}

/** Of the threads that there are now. */
export async function threadsCpuSeconds(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const texts = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8").catch(() => "0")),
  );
  return texts.reduce((sum, text) => sum + Number.parseInt(text, 10), 0) / 1e9;
}

/** `node dist/broker.js …`, which is the same broker, as a person would start it. */
export function commandOf(settings: WatchedSettings): string {
  const flags = Object.entries(settings)
    .filter(([key]) => key !== "data.dir")
    .map(([key, value]) => `--${key.replaceAll(".", "-")} ${value}`);
  return ["node dist/broker.js", ...flags].join(" ");
}
