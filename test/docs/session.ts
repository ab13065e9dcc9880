// Carries out what a page shows as a session in a shell: all its `console` blocks in order, in one empty directory, with the command
// millrace and brokers on ports of their own. What is printed must be what stands there; `…` stands for anything, alone in a line
// for any number of lines.

import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type BrokerProcess, spawnBroker } from "../support/broker.js";
import { cliProgram } from "../support/cli.js";
import { tempDir } from "../support/tmp.js";
import { type Block, type Command, commandsOf } from "./blocks.js";

const PORT = 4710;
const OPS_PORT = 4711;
/** Of every broker, as the pages show it. */
const PID = 4242;

export class Session {
  /** Commands that were carried out. */
  commands = 0;
  private readonly dir = join(tempDir("page"), "work");
  private readonly bin = join(this.dir, "../bin");
  /** Which port stands for one of a page. */
  private readonly ports = new Map<number, number>();
  private broker: BrokerProcess | undefined;

  constructor() {
    for (const made of [this.dir, this.bin]) mkdirSync(made);
    const program = join(this.bin, "millrace");
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${cliProgram()}" "$@"\n`);
    chmodSync(program, 0o755);
  }

  async run(block: Block): Promise<void> {
    const commands = commandsOf(block);
    expect(commands.length, `${block.page}:${block.line} has commands`).toBeGreaterThan(0);
    for (const command of commands) await this.carryOut(command, `${block.page}:${block.line}`);
  }

  private async carryOut({ command, prints }: Command, where: string): Promise<void> {
    this.commands++;
    const printed = command.startsWith("millrace serve ") ? await this.serve(command) : await this.shell(command);
    const shown = this.asWritten(printed);
    if (!matches(shown, prints)) expect(shown.join("\n"), `${where}: ${command}`).toBe(prints.join("\n"));
  }

  /** In the background until a `kill` of the page, or in the foreground where it refuses to start. */
  private async serve(command: string): Promise<string> {
    const [, ...args] = command.replace(/ &$/, "").split(" ").slice(1);
    const port = take(args, "--port") ?? PORT;
    const opsPort = take(args, "--ops-port") ?? OPS_PORT;
    if (!args.includes("--disk-reserve-bytes")) args.push("--disk-reserve-bytes", "0");
    const broker = spawnBroker([...args, "--port", "0", "--ops-port", "0"], { cwd: this.dir });
    if (command.endsWith(" &")) {
      this.broker = await broker.ready();
      this.ports.set(port, broker.port);
      this.ports.set(opsPort, broker.opsPort);
      return broker.stdout;
    }
    await broker.exited;
    return broker.stderr;
  }

  private async shell(command: string): Promise<string> {
    const { broker } = this;
    const kills = command.includes(` ${PID}`);
    const printed = await this.bash(this.asHere(command));
    if (kills) await broker?.exited;
    return printed;
  }

  private bash(command: string): Promise<string> {
    const child = spawn("bash", ["--norc", "-c", `exec 2>&1; ${command}`], {
      cwd: this.dir,
      env: {
        PATH: `${this.bin}:${process.env.PATH}`,
        HOME: this.dir,
        MILLRACE_BROKER: `127.0.0.1:${this.ports.get(PORT)}`,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    return new Promise((resolve) => child.once("close", () => resolve(text)));
  }

  private asHere(command: string): string {
    let here = command.replaceAll(` ${PID}`, ` ${this.broker?.pid}`);
    for (const [written, real] of this.ports) here = here.replaceAll(`127.0.0.1:${written}`, `127.0.0.1:${real}`);
    return here;
  }

  private asWritten(printed: string): string[] {
    // As on a terminal, where a refusal is a plain line alone.
    let written = printed.replaceAll(/^\{"level":.*\}\n/gm, "");
    for (const [shown, real] of this.ports)
      written = written.replaceAll(new RegExp(`([:=])${real}\\b`, "g"), `$1${shown}`);
    if (this.broker !== undefined) written = written.replaceAll(new RegExp(`\\b${this.broker.pid}\\b`, "g"), `${PID}`);
    return written.trimEnd().split("\n");
  }
}

/** The value of a flag that has one, which is taken out. */
function take(args: string[], flag: string): number | undefined {
  const at = args.indexOf(flag);
  return at < 0 ? undefined : Number(args.splice(at, 2)[1]);
}

/** Whether the lines are those of the page. */
export function matches(lines: readonly string[], page: readonly string[]): boolean {
  const printed = lines.length === 1 && lines[0] === "" ? [] : lines;
  const [first, ...rest] = page;
  if (first === undefined) return printed.length === 0;
  if (first === "…") return printed.some((_, at) => matches(printed.slice(at), rest)) || rest.length === 0;
  const [line, ...others] = printed;
  return line !== undefined && isLine(line, first) && matches(others, rest);
}

function isLine(line: string, page: string): boolean {
  const parts = page.split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(line);
}
