// Every process that the bench starts ends with it: a run that is ended in the middle must not leave a server behind that takes a core
// from whatever is measured next.

import type { ChildProcess } from "node:child_process";

const living = new Set<ChildProcess>();

process.once("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

export function endsWithUs<T extends ChildProcess>(child: T): T {
  living.add(child);
  child.once("exit", () => living.delete(child));
  return child;
}
