// Runs other programs for the scripts: output is kept and shown only when it matters, and a signal that ends the script ends them too.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

const running = new Set();
const endings = new Set();

/** `action` runs (synchronously) when a signal ends this script. Returns what takes it back. */
export function onEnd(action) {
  endings.add(action);
  return () => endings.delete(action);
}

let handling = false;

/** Ends the children, then this process by the shell's convention. Installed with the first child, removed with the last. */
function handleSignals() {
  if (handling) return;
  handling = true;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, end);
}

function end(signal) {
  for (const child of running) killGroup(child, "SIGTERM");
  for (const action of endings) action();
  process.exit(128 + constants.signals[signal]);
}

function killGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // gone already
  }
}

/** Lets signals act as they would by default again: what runs next in this process has its own handlers. */
export function stopHandlingSignals() {
  handling = false;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeListener(signal, end);
}

/**
 * Runs a program to its end: `{ code, output }`, where `output` is what it wrote to stdout and stderr, in order of arrival.
 * `onLine` sees each line of it as it comes. A program that is not there is code 127; one that a signal ended is 128 + its number, and
 * so is one that was killed after `limitMs`.
 */
export function run(command, args, { env = process.env, cwd = root, onLine, limitMs } = {}) {
  handleSignals();
  return new Promise((resolve) => {
    // In a group of its own, so that what it started ends with it.
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    running.add(child);
    const limit = limitMs === undefined ? undefined : setTimeout(killGroup, limitMs, child, "SIGKILL");
    let output = "";
    let partial = "";
    const take = (text) => {
      output += text;
      if (onLine === undefined) return;
      const lines = (partial + text).split("\n");
      partial = lines.pop();
      for (const line of lines) onLine(line);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", take);
    child.on("error", (error) => {
      clearTimeout(limit);
      running.delete(child);
      resolve({ code: 127, output: `${output}${command}: ${error.message}\n` });
    });
    child.on("close", (code, signal) => {
      clearTimeout(limit);
      running.delete(child);
      if (partial !== "") onLine?.(partial);
      const ended = signal === null ? output : `${output}\n${command} was ended by ${signal}\n`;
      resolve({ code: signal === null ? code : 128 + constants.signals[signal], output: ended });
    });
  });
}

/** "0.4 s", "1 m 05 s". */
export function spent(sinceMs) {
  const seconds = (performance.now() - sinceMs) / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} m ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
}
