// Starts a broker in this process: the same settings, checks and parts as the program `broker`, without its signals, exit
// codes and ready line.

import { isIP } from "node:net";
import { Broker } from "../broker/broker.js";
import { openDataDir } from "../broker/data-dir.js";
import type { OperatorLog } from "../broker/options.js";
import { badArgument, badOptions } from "../model/arguments.js";
import { systemClock, systemTimers } from "../model/clock.js";
import { MillraceError } from "../model/errors.js";
import { native } from "../native/binding.js";
import { Server } from "../server/server.js";
import { planDescriptors } from "./descriptors.js";
import { EPHEMERAL_DEFAULTS, EphemeralDirectory } from "./ephemeral.js";
import { isNew, listenFailed, tryListening } from "./listening.js";
import { silentLog } from "./log.js";
import { type OpsPages, openOpsPages } from "./ops-pages.js";
import type { BrokerSettings } from "./settings/broker-settings.js";
import { brokerOptions, serverOptions } from "./settings/options.js";
import { ownSettings } from "./settings/own.js";
import { type Resolved, resolve } from "./settings/resolve.js";
import { fromDocument, type Source } from "./settings/sources.js";
import { openSidePort, type SidePort } from "./side-port.js";
import { type BrokerStatistics, statisticsOf } from "./statistics.js";
import { packageVersion } from "./version.js";

/** A broker that takes connections. `await using` stops it. */
export interface RunningBroker extends AsyncDisposable {
  /** What a client of this machine connects to: `host:port`. */
  readonly address: string;
  readonly host: string;
  readonly port: number;
  /** Where it listens beside that, if it was told to. */
  readonly socketPath: string | undefined;
  /** The side port, unless it is off. */
  readonly opsPort: number | undefined;
  /** Where its log lies. */
  readonly dataDir: string;
  readonly version: string;
  /** What it has counted since it started. */
  statistics(): BrokerStatistics;
  /**
   * Takes nothing new, answers and forces everything taken before, closes the log. Resolves to false when a partition could
   * not be closed cleanly (it had failed before). A second call returns the same promise.
   */
  stop(): Promise<boolean>;
}

export interface StartBrokerOptions {
  /** Settings by their names, as the file has them: `{ "data.dir": "/var/lib/millrace", port: 0, topics: "orders:3" }`. */
  readonly settings?: BrokerSettings | undefined;
  /**
   * A broker for a test: it keeps its log in a temporary directory on a disk, which is removed when it stops. It takes a free
   * port, has no side port unless `ops.enabled` is set, and small segments. `data.dir` cannot be set beside it. When its process
   * ends without a stop the directory is removed, too; after a kill the next ephemeral broker does it. Default false.
   */
  readonly ephemeral?: boolean | undefined;
  /** Gets what the program writes to stderr. A pino logger is one. Without it nothing is written. */
  readonly log?: OperatorLog | undefined;
}

/**
 * Starts a broker in this process.
 *
 * @throws MillraceError with `code` `BAD_CONFIG` (the message has a line for each problem), `BAD_ARGUMENT`, `DATA_DIR_IN_USE`,
 * `DATA_DIR_UNUSABLE`, or `LISTEN_FAILED` when an address cannot be had
 *
 * @example
 * ```ts
 * import { Connection, recordRegion, startBroker } from "millrace";
 *
 * // For a test: ready in some milliseconds, gone without a trace, any number at once.
 * const broker = await startBroker({ ephemeral: true, settings: { topics: "orders:3" } });
 *
 * const connection = await Connection.connect({ broker: broker.address });
 * const { baseOffset } = await connection.produce("orders", 2, recordRegion(["apples 3"]));
 * console.log("the first record of orders-2 has offset", baseOffset);
 * await connection.close();
 * await broker.stop();
 * ```
 */
export async function startBroker(options: StartBrokerOptions = {}): Promise<RunningBroker> {
  const bad = badOptions(options, START, "startBroker");
  if (bad !== undefined) throw bad;
  const { settings = {}, ephemeral = false, log = silentLog } = options;
  if (typeof ephemeral !== "boolean") throw badArgument("ephemeral", ephemeral, "true or false");
  const source = fromDocument({ ...settings }, "startBroker");
  if (ephemeral) return startEphemeral(source, log);
  return startResolved(resolved([source]), log);
}

const START = new Set(["settings", "ephemeral", "log"]);

function resolved(sources: readonly Source[]): Resolved {
  const resolution = resolve(sources);
  if (resolution.problems !== undefined) throw new MillraceError("BAD_CONFIG", resolution.problems.join("\n"));
  return resolution.resolved;
}

async function startEphemeral(source: Source, log: OperatorLog): Promise<RunningBroker> {
  const dataDir = source.entries.get("data.dir");
  if (dataDir !== undefined) {
    const got = JSON.stringify(dataDir.value);
    const text = `data.dir: got ${got} beside ephemeral, which takes a directory of its own and removes it; leave one of them out`;
    throw new MillraceError("BAD_CONFIG", text);
  }
  // Settings that do not hold are refused before anything is made.
  const defaults = fromDocument(EPHEMERAL_DEFAULTS, "ephemeral");
  resolved([source, defaults]);
  const directory = await EphemeralDirectory.create(systemClock);
  const own = fromDocument({ ...EPHEMERAL_DEFAULTS, "data.dir": directory.path }, "ephemeral");
  try {
    const broker = await startResolved(resolved([source, own]), log);
    let stopped: Promise<boolean> | undefined;
    const stop = async (): Promise<boolean> => {
      try {
        return await broker.stop();
      } finally {
        await directory.remove();
      }
    };
    return stoppable(broker, () => {
      stopped ??= stop();
      return stopped;
    });
  } catch (error) {
    await directory.remove();
    throw error;
  }
}

const stoppable = (broker: Omit<RunningBroker, "stop" | typeof Symbol.asyncDispose>, stop: () => Promise<boolean>) => ({
  ...broker,
  stop,
  [Symbol.asyncDispose]: async (): Promise<void> => {
    await stop();
  },
});

/** @internal The same with settings that are checked already. Not in the types of the package: they would ask for valibot. */
export async function startResolved(resolved: Resolved, log: OperatorLog): Promise<RunningBroker> {
  const { settings } = resolved;
  const version = await packageVersion();
  const limit = native.openFilesLimit();
  const partitions = resolved.topics.reduce((sum, topic) => sum + topic.partitions, 0);
  const wanted = settings["connections.max"];
  const descriptors = planDescriptors(limit, partitions, wanted, resolved.isWritten("connections.max"));
  warn(resolved, descriptors.connections, limit, log);
  const options = brokerOptions(resolved, descriptors);

  const state: { broker?: Broker; server?: Server; sidePort?: SidePort; pages?: OpsPages; stopping: boolean } = {
    stopping: false,
  };
  // Before a directory is made and filled that nothing could be done with. Else the directory first: a second broker on it is
  // told of the directory and its holder, not of a port.
  if (await isNew(options.dataDir)) await tryListening(settings);
  const dataDir = await openDataDir(options.dataDir, log);
  tellOfStart(resolved, options.dataDir, version, log);
  let ownsDataDir = true;
  try {
    // The side port before the partitions: whoever watches a long recovery sees a process that lives and is not ready.
    if (settings["ops.enabled"]) {
      state.pages = openOpsPages({
        version,
        resolved,
        broker: () => state.broker,
        server: () => state.server,
        opsPort: () => state.sidePort?.port ?? 0,
        connectionsMax: descriptors.connections,
        stopping: () => state.stopping,
        clock: systemClock,
        now: () => performance.now(),
        timers: systemTimers,
      });
      state.sidePort = await openSidePort({
        host: settings["ops.host"],
        port: settings["ops.port"],
        allowedHosts: settings["ops.allowed.hosts"] ?? [],
        health: () => state.broker?.health(),
        stopping: () => state.stopping,
        routes: state.pages.routes,
      }).catch((cause: unknown) => listenFailed(settings, "ops.port", cause));
    }
    ownsDataDir = false;
    state.broker = await Broker.open(options, dataDir, {
      clock: systemClock,
      monotonicNow: () => performance.now(),
      timers: systemTimers,
      log,
    });
    state.server = new Server(state.broker, serverOptions(resolved, descriptors, version), log);
    await state.server.listen().catch((cause: unknown) => listenFailed(settings, "port", cause));
    try {
      state.server.listenUnix();
    } catch (cause) {
      await listenFailed(settings, "socket.path", cause);
    }
  } catch (error) {
    state.server?.destroy();
    await state.broker?.close();
    state.pages?.stop();
    await state.sidePort?.close();
    if (ownsDataDir) dataDir.release();
    throw error;
  }

  const { broker, server, sidePort, pages } = state;
  let stopped: Promise<boolean> | undefined;
  const stop = async (): Promise<boolean> => {
    state.stopping = true;
    await server.stop();
    const clean = await broker.close();
    pages?.stop();
    await sidePort?.close();
    return clean;
  };
  const running = {
    address: addressOf(settings.host, server.port),
    host: settings.host,
    port: server.port,
    socketPath: settings["socket.path"],
    opsPort: sidePort?.port,
    dataDir: options.dataDir,
    version,
    statistics: () => statisticsOf(broker, server),
  };
  return stoppable(running, () => {
    stopped ??= stop();
    return stopped;
  });
}

/** Where all addresses are listened on, this machine's own is one of them. */
function addressOf(host: string, port: number): string {
  const own = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return isIP(own) === 6 ? `[${own}]:${port}` : `${own}:${port}`;
}

/** What runs where, and with which settings that are not the default. */
function tellOfStart(resolved: Resolved, dataDir: string, version: string, log: OperatorLog): void {
  const { settings } = resolved;
  const written = Object.entries(settings).filter(([key]) => resolved.isWritten(key));
  const own = ownSettings(resolved);
  log.info(
    {
      kind: "broker.starting",
      version,
      node: process.version,
      platform: native.platform,
      crc32c: native.crc32cKind,
      dataDir,
      topics: Object.fromEntries(resolved.topics.map(({ name, partitions }) => [name, partitions])),
      settings: Object.fromEntries(written),
      origins: Object.fromEntries(written.map(([key]) => [key, resolved.origin(key)])),
      topicSettings: own.length === 0 ? undefined : own,
    },
    "starting",
  );
  if (!native.isMemoryFileSystem(dataDir)) return;
  log.warn(
    { kind: "settings.memory-file-system", dataDir },
    `data.dir ${dataDir} lies in memory: nothing in it survives the machine, whatever is forced`,
  );
}

/** What is allowed and probably not meant. */
function warn({ settings, isWritten }: Resolved, connections: number, openFiles: number, log: OperatorLog): void {
  for (const key of ["host", "ops.host"] as const) {
    if (key === "ops.host" && !settings["ops.enabled"]) continue;
    if (isLoopback(settings[key])) continue;
    log.warn(
      { kind: "settings.not-loopback", key, value: settings[key] },
      `${key} is ${settings[key]}: whoever reaches it can read and write, there is no authentication`,
    );
  }
  if (connections < settings["connections.max"]) {
    log.warn(
      { kind: "settings.open-files", openFiles, connections, isWritten: isWritten("connections.max") },
      `the limit of open files is ${openFiles}: at most ${connections} connections (ulimit -n raises it)`,
    );
  }
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
