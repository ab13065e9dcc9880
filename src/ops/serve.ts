// The broker as a program: command line, one line on stdout when it is ready, signals, exit codes.

import { MillraceError } from "../model/errors.js";
import { SIGNAL_ECHO_MS } from "../model/limits.js";
import type { Log } from "./log.js";
import { openLog } from "./log.js";
import { tellNotStarted, tellWrongSettings } from "./refusal.js";
import { helpText, printConfig } from "./settings/print.js";
import { type Resolved, resolve } from "./settings/resolve.js";
import { fromEnvironment, fromFile, fromFlags } from "./settings/sources.js";
import type { RunningBroker } from "./start-broker.js";
import { packageVersion } from "./version.js";

export const ExitCode = { STOPPED: 0, FAILED: 1, BAD_CONFIG: 2, DATA_DIR_IN_USE: 3, DATA_DIR_UNUSABLE: 4 } as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Runs the broker until it is stopped. The caller ends the process with the result, at once. */
export async function serve(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ExitCode> {
  // A reader that closes stdout, after the ready line or before, is no reason to stop.
  process.stdout.on("error", () => undefined);
  const flags = fromFlags(args);
  if (flags.help) return print(helpText());
  if (flags.version) return print(`${await packageVersion()}\n`);
  const resolution = resolve([flags, fromEnvironment(environment), fromFile(flags.config)]);
  if (resolution.problems !== undefined) return refuse(resolution.problems);
  if (flags.printConfig) return print(printConfig(resolution.resolved));
  return run(resolution.resolved);
}

async function print(text: string): Promise<ExitCode> {
  // Waits until it is written: the process ends after it, and a pipe may take less than all at once.
  await new Promise((resolve) => process.stdout.write(text, resolve));
  return ExitCode.STOPPED;
}

/** Which level was meant is not known: this one is written in any case. */
async function refuse(problems: readonly string[]): Promise<ExitCode> {
  const log = openLog("fatal");
  tellWrongSettings(log, problems);
  await log.flush();
  return ExitCode.BAD_CONFIG;
}

async function run(resolved: Resolved): Promise<ExitCode> {
  const log = openLog(resolved.settings["log.level"]);
  const signals = new StopSignals(log);
  ignoreOthers(log);
  process.once("uncaughtException", (error) => {
    log.fatal({ kind: "broker.failed", err: error }, "stopped by an error that nothing handles");
    log.flushNow();
    process.exit(ExitCode.FAILED);
  });
  const code = await startAndStop(resolved, log, signals);
  await log.flush();
  return code;
}

async function startAndStop(resolved: Resolved, log: Log, signals: StopSignals): Promise<ExitCode> {
  const startedAt = performance.now();
  const timeoutMs = resolved.settings["stop.timeout.ms"];
  // Also while it is still starting: the recovery of a large log, or a disk that hangs, must not take that long to stop.
  void signals.first.then(() => signals.giveUpAfter(timeoutMs));
  let broker: RunningBroker;
  try {
    // Only here: it loads the addon, and one that is missing or damaged is a refusal to start as every other.
    const { startResolved } = await import("./start-broker.js");
    broker = await startResolved(resolved, log);
  } catch (error) {
    tellNotStarted(log, error);
    return exitCodeOf(error);
  }
  const { host, port, opsPort, version, socketPath, dataDir } = broker;
  log.info(
    { kind: "broker.ready", host, port, opsPort, socketPath, dataDir, version, milliseconds: since(startedAt) },
    "ready",
  );
  process.stdout.write(
    `millrace ready host=${host} port=${port} ops=${opsPort ?? "off"} pid=${process.pid} version=${version}\n`,
  );

  const signal = await signals.first;
  const stopAt = performance.now();
  log.info({ kind: "broker.stopping", signal, timeoutMs }, `stopping on ${signal}`);
  const clean = await broker.stop();
  const fields = { kind: "broker.stopped", clean, milliseconds: since(stopAt) };
  if (clean) log.info(fields, "stopped");
  else log.error(fields, "stopped, and not every partition could be closed cleanly");
  return clean ? ExitCode.STOPPED : ExitCode.FAILED;
}

const since = (start: number): number => Math.round(performance.now() - start);

function exitCodeOf(error: unknown): ExitCode {
  if (!(error instanceof MillraceError)) return ExitCode.FAILED;
  if (error.code === "BAD_CONFIG") return ExitCode.BAD_CONFIG;
  if (error.code === "DATA_DIR_IN_USE") return ExitCode.DATA_DIR_IN_USE;
  return error.code === "DATA_DIR_UNUSABLE" ? ExitCode.DATA_DIR_UNUSABLE : ExitCode.FAILED;
}

/** Sent to have a log opened anew, as to other servers. By default the one ends the process, and the other opens Node's debugger to all users. */
function ignoreOthers(log: Log): void {
  for (const signal of ["SIGUSR1", "SIGUSR2"] as const) {
    process.on(signal, () => {
      log.warn({ kind: "signal.ignored", signal }, `${signal} means nothing to the broker; SIGTERM stops it`);
    });
  }
}

/**
 * SIGTERM, SIGINT, and SIGHUP, which a terminal sends that is closed: the first one asks for a stop, a second one ends the
 * process.
 */
class StopSignals {
  readonly first: Promise<NodeJS.Signals>;

  constructor(private readonly log: Log) {
    this.first = new Promise((resolve) => {
      let seen: { signal: NodeJS.Signals; at: number } | undefined;
      for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
        process.on(signal, () => {
          const at = performance.now();
          if (seen === undefined) {
            seen = { signal, at };
            resolve(signal);
          } else if (signal !== seen.signal || at - seen.at > SIGNAL_ECHO_MS) {
            this.giveUp(`a second signal, ${signal}`);
          }
        });
      }
    });
  }

  giveUpAfter(ms: number): void {
    setTimeout(() => this.giveUp(`no clean stop within ${ms} ms`), ms).unref();
  }

  private giveUp(why: string): void {
    this.log.fatal({ kind: "broker.gave-up", why }, `ended without a clean stop: ${why}`);
    void this.log.flush().then(() => process.exit(ExitCode.FAILED));
  }
}
