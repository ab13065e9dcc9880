// A terminal for tests: a program that finds one on stdin, stdout and stderr. python3 makes it, which whoever compiles the addon
// has (node-gyp needs it); a package for this would bring a second addon to compile.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { onTestFinished } from "vitest";

/** argv: columns, command…; what it is sent on stdin is typed, what it writes to stdout was shown. */
const HELPER = `
import fcntl, os, pty, select, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
typing = True
while True:
    ready, _, _ = select.select([terminal, 0] if typing else [terminal], [], [])
    if 0 in ready:
        keys = os.read(0, 4096)
        typing = len(keys) > 0
        if typing:
            os.write(terminal, keys)
    if terminal in ready:
        try:
            shown = os.read(terminal, 65536)
        except OSError:
            break
        if not shown:
            break
        os.write(1, shown)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
`;

/** Whether this machine can make one. */
export const hasTerminals: boolean =
  spawnSync("python3", ["-c", "import pty, os; os.waitstatus_to_exitcode"], { stdio: "ignore" }).status === 0;

export interface TerminalOptions {
  readonly columns?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A program in a terminal of its own. Killed after the test. */
export class Terminal {
  /** Everything that it was sent, escapes included. */
  shown = "";
  readonly exited: Promise<number | null>;
  private readonly child: ChildProcess;

  constructor(command: readonly string[], { columns = 80, environment = {} }: TerminalOptions = {}) {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(MILLRACE_|NODE_|VITEST|NO_COLOR|FORCE_COLOR|TERM$|COLUMNS$)/.test(name),
    );
    this.child = spawn("python3", ["-c", HELPER, String(columns), ...command], {
      env: { ...Object.fromEntries(inherited), TERM: "xterm-256color", ...environment },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.child.stdin?.on("error", () => undefined);
    this.child.stdout?.on("data", (chunk: Buffer) => {
      this.shown += chunk.toString();
    });
    this.exited = new Promise((resolve) => this.child.once("close", (code) => resolve(code)));
    // The program gets a hang-up when its terminal is gone.
    onTestFinished(() => void this.child.kill("SIGKILL"));
  }

  /** As if somebody pressed these keys; "\x03" is ^C. */
  type(keys: string): void {
    this.child.stdin?.write(keys);
  }
}
