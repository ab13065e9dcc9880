// `millrace completion`: what a shell offers when somebody presses TAB, asked of the shells themselves.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { cliProgram, millrace } from "../support/cli.js";
import { FakeBroker } from "../support/fake-broker.js";
import { hasTerminals, Terminal } from "../support/terminal.js";
import { tempDir } from "../support/tmp.js";

/** Ends a test as skipped where a shell, or a terminal for it, is not to be had. */
function needShell(shell: string, context: TestContext, { terminal = false } = {}): void {
  const { status } = spawnSync(shell, ["--version"], { stdio: "ignore" });
  context.skip(status !== 0, `there is no ${shell}; the package ${shell} has it`);
  context.skip(terminal && !hasTerminals, "there is no python3, which makes a terminal");
}

const script = async (shell: string): Promise<string> => {
  const { code, stdout } = await millrace(["completion", shell]);
  expect(code).toBe(0);
  return stdout;
};

/** A directory with the script, a checkpoint file and a data directory, and `millrace` as a command. */
async function home(shell: string): Promise<{ dir: string; environment: Record<string, string> }> {
  const dir = tempDir("completion");
  mkdirSync(join(dir, "my-data"));
  mkdirSync(join(dir, "bin"));
  writeFileSync(join(dir, "my.checkpoint"), "");
  writeFileSync(join(dir, "script"), await script(shell));
  writeFileSync(join(dir, "bin/millrace"), `#!/bin/sh\nexec "${process.execPath}" "${cliProgram()}" "$@"\n`, {
    mode: 0o755,
  });
  const { address } = await FakeBroker.start({ topics: { orders: 2, clicks: 1 } });
  return { dir, environment: { MILLRACE_BROKER: address, PATH: `${join(dir, "bin")}:${process.env.PATH}`, HOME: dir } };
}

/** What is typed, and what one TAB makes of it or offers. */
type Case = readonly [string, RegExp];

/** Of another broker, which the command line names. */
async function casesElsewhere(): Promise<readonly Case[]> {
  const { address } = await FakeBroker.start({ topics: { payments: 1 } });
  return [
    [`millrace consume --broker ${address} pay`, / payments /],
    [`millrace consume --broker=${address} pay`, / payments /],
  ];
}

const CASES: readonly Case[] = [
  ["millrace cons", /millrace consume /],
  ["millrace b", /backup[\s\S]*bench/],
  ["millrace produce --fra", /--framing[ =]/],
  ["millrace produce --framing b", /--framing base64 /],
  ["millrace produce orders --ack wr", /--ack written /],
  ["millrace produce cl", /produce clicks /],
  ["millrace consume orders --checkpoint my.", /--checkpoint my.checkpoint /],
  ["millrace backup my-", /backup my-data\//],
  ["millrace serve --retention-b", /--retention-bytes[ =]/],
  ["millrace completion f", /completion fish /],
  ["millrace help bac", /help backup /],
  ["millrace bench --topic or", /--topic orders /],
  ["millrace serve --segment-mode FI", /--segment-mode FILE_CHANNEL /],
  ["millrace serve --ops-enabled f", /--ops-enabled false /],
  ["millrace consume orders --from la", /--from latest /],
  ["millrace produce orders --ack=wr", /--ack=written /],
  // And not the verb that the scripts ask for topics.
  ["millrace help comp", /help completion /],
];

describe("completion", () => {
  it("is there for three shells, and for no other", async () => {
    for (const shell of ["bash", "zsh", "fish"]) expect(await script(shell)).toContain("retention-bytes");
    const other = await millrace(["completion", "tcsh"]);
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("Allowed choices are bash, zsh, fish")]);
    expect((await millrace(["--help"])).stdout).not.toContain("completion-topics");
  });

  it("asks for topics without a word when there is no broker", async () => {
    const none = await millrace(["completion-topics", "--broker", "127.0.0.1:1"]);
    expect(none).toMatchObject({ code: 0, stdout: "", stderr: "" });
    const silent = await FakeBroker.start({ intercept: () => true });
    const startedAt = performance.now();
    expect(await millrace(["completion-topics", "--broker", silent.address])).toMatchObject({ code: 0, stdout: "" });
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });

  it("is a script that bash reads without complaint", async (context) => {
    needShell("bash", context);
    const { dir, environment } = await home("bash");
    const read = await run("bash", ["--norc", "-euc", "source ./script; complete -p millrace"], dir, environment);
    expect(read).toEqual({ code: 0, stdout: "complete -F _millrace millrace\n", stderr: "" });
  });

  it("completes in bash, at its prompt", async (context) => {
    needShell("bash", context, { terminal: true });
    const { dir, environment } = await home("bash");
    const inputrc = ["show-all-if-ambiguous on", "bell-style none", "enable-bracketed-paste off"];
    writeFileSync(join(dir, ".inputrc"), inputrc.map((line) => `set ${line}\n`).join(""));
    const terminal = new Terminal(["bash", "--norc", "-i"], {
      columns: 160,
      environment: { ...environment, INPUTRC: join(dir, ".inputrc"), HISTFILE: "/dev/null" },
    });
    await begin(terminal, `cd ${dir}; source ./script`);
    for (const [typed, completed] of [...CASES, ...(await casesElsewhere())])
      await complete(terminal, typed, completed);
    const from = terminal.shown.length;
    terminal.type("millrace topics --broker 127.0.0.1:1 \t\t; echo none$((1+1))\n");
    await expect.poll(() => terminal.shown.slice(from), { timeout: 5000 }).toContain("none2");
    expect(terminal.shown.slice(from)).not.toContain("orders");
  });

  it("completes in zsh, at its prompt", async (context) => {
    needShell("zsh", context, { terminal: true });
    const { dir, environment } = await home("zsh");
    const terminal = new Terminal(["zsh", "-f", "-i"], { columns: 160, environment });
    await begin(terminal, `cd ${dir}; unsetopt prompt_sp; autoload -Uz compinit; compinit -u -D; source ./script`);
    for (const [typed, completed] of [...CASES, ...(await casesElsewhere())])
      await complete(terminal, typed, completed);
  });

  it("completes in fish, as it says itself", async (context) => {
    needShell("fish", context);
    const { dir, environment } = await home("fish");
    for (const [typed, completed] of [...CASES, ...(await casesElsewhere())]) {
      const asked = `source ./script; complete -C ${JSON.stringify(typed)}`;
      const { stdout, stderr } = await run("fish", ["--no-config", "-c", asked], dir, environment);
      expect(stderr).toBe("");
      const words = stdout.split("\n").map((line) => line.split("\t")[0]);
      const last = typed.split(" ").at(-1) ?? "";
      expect(`${typed.slice(0, -last.length)}${words.join(" ")} `, typed).toMatch(completed);
    }
  });
});

/** Not in this process: the broker that is asked is. */
async function run(command: string, args: readonly string[], cwd: string, env: Readonly<Record<string, string>>) {
  const child = spawn(command, args, { cwd, env: { ...env, TERM: "dumb" }, stdio: ["ignore", "pipe", "pipe"] });
  const shown = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => {
      shown[name] += chunk.toString();
    });
  }
  const code = await new Promise((resolve) => child.once("close", resolve));
  return { code, ...shown };
}

const PROMPT = "=@=";
/** A shell answers ^C in less, or has not taken it for what it was. */
const INTERRUPT_MS = 2000;

async function begin(terminal: Terminal, commands: string): Promise<void> {
  terminal.type(`${commands}; PS1='=@''= '\n`);
  await prompted(terminal);
}

const isPrompted = ({ shown }: Terminal): boolean => plain(shown).trimEnd().endsWith(PROMPT);
const prompted = (terminal: Terminal) => expect.poll(() => isPrompted(terminal), { timeout: 10_000 }).toBe(true);

/** At a prompt, and back to one. */
async function complete(terminal: Terminal, typed: string, completed: RegExp): Promise<void> {
  const from = terminal.shown.length;
  terminal.type(`${typed}\t`);
  await expect.poll(() => plain(terminal.shown.slice(from)), { timeout: 5000, message: typed }).toMatch(completed);
  // ^C: another line. While a list is still drawn it ends that alone, and the line stays.
  let since = Number.NEGATIVE_INFINITY;
  const isBack = (): boolean => {
    if (isPrompted(terminal)) return true;
    if (performance.now() - since > INTERRUPT_MS) {
      terminal.type("\x03");
      since = performance.now();
    }
    return false;
  };
  await expect.poll(isBack, { timeout: 15_000 }).toBe(true);
}

const MOVES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[a-zA-Z]`, "g");
const BACK = new RegExp(`.${String.fromCharCode(8)}`, "g");

/** Without what moves the cursor. */
const plain = (shown: string): string => shown.replaceAll(MOVES, "").replaceAll(BACK, "");
