// A signal ends the bench, and the ladder of faults, by an exit, so that what goes with an exit goes: servers (children.ts) and directories (run-directory.ts).

import { constants } from "node:os";

/** The exit code is the shell's: 128 and the number of the signal. */
export function endBySignals(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
}
