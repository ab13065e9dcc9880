// The two servers that the questions about the wire compare: the broker as it is shipped, and the floor.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ServerProcess } from "./server-process.js";
import { LOOPBACK_CONGESTION, type Stand } from "./stand.js";
import { argumentsOf, type Flags } from "./tools.js";

export interface ServerSetup {
  readonly format: "crc32c" | "plain";
  readonly mode: "MAPPED" | "FILE_CHANNEL";
  readonly fetch: "ZERO_COPY" | "HEAP";
  /** Payload of every record: the floor finds offsets by it. */
  readonly recordBytes: number;
  /** Full segments that stay, about; older ones are removed as it goes on. Undefined: all stay. */
  readonly keepSegments?: number;
}

/** The default of `segment.bytes`, and of the floor. */
const SEGMENT_MIB = 128;

export const TOPIC = "bench";

export const usual: ServerSetup = { format: "crc32c", mode: "MAPPED", fetch: "ZERO_COPY", recordBytes: 128 };

export function brokerFlags({ format, mode, fetch, keepSegments }: ServerSetup): Flags {
  return {
    topics: `${TOPIC}:1`,
    "record-format": format,
    "segment-mode": mode,
    "fetch-mode": fetch,
    "ops-enabled": "false",
    ...(keepSegments === undefined
      ? {}
      : { "retention-bytes": `${keepSegments * SEGMENT_MIB}MiB`, "retention-check-ms": "50ms" }),
  };
}

export function floorFlags({ format, mode, fetch, recordBytes, keepSegments }: ServerSetup): Flags {
  return {
    sink: mode === "MAPPED" ? "mapped" : "pwrite",
    format,
    fetch: fetch === "HEAP" ? "heap" : "sendfile",
    size: recordBytes,
    keep: keepSegments,
    congestion: LOOPBACK_CONGESTION,
  };
}

export async function startBroker(
  stand: Stand,
  directory: string,
  setup: ServerSetup,
  more: Flags = {},
): Promise<ServerProcess> {
  await mkdir(directory, { recursive: true });
  const flags = { "data-dir": join(directory, "data"), port: 0, ...brokerFlags(setup), ...more };
  return ServerProcess.start(process.execPath, [join(stand.root, "dist", "broker.js"), ...argumentsOf(flags)]);
}

export async function startFloor(
  stand: Stand,
  directory: string,
  setup: ServerSetup,
  more: Flags = {},
): Promise<ServerProcess> {
  const dir = join(directory, "floor");
  await mkdir(dir, { recursive: true });
  return ServerProcess.start(stand.tools.paths.floor, [
    "serve",
    ...argumentsOf({ dir, ...floorFlags(setup), ...more }),
  ]);
}

export interface ServerKind {
  readonly name: string;
  readonly start: (stand: Stand, directory: string, setup: ServerSetup) => Promise<ServerProcess>;
  /** As a person would start it. */
  readonly command: (setup: ServerSetup) => string;
}

/** The floor comes last: others are compared with it. */
export const serverKinds: readonly ServerKind[] = [
  {
    name: "millrace",
    start: startBroker,
    command: (setup) => ["node dist/broker.js", ...argumentsOf(brokerFlags(setup))].join(" "),
  },
  {
    name: "floor",
    start: startFloor,
    command: (setup) => ["floor serve", ...argumentsOf(floorFlags(setup))].join(" "),
  },
];
