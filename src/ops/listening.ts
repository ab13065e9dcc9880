// Why an address cannot be listened on, in the words of the settings; and a try before anything is made, so that a start on a
// port that is taken leaves nothing behind.

import { once } from "node:events";
import { lstat, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { MillraceError } from "../model/errors.js";
import { LAYOUT_FILE } from "../storage/data-dir.js";
import type { Settings } from "./settings/table.js";

type Place = "port" | "ops.port" | "socket.path";

/** No broker has made it its own yet. */
export async function isNew(dataDir: string): Promise<boolean> {
  const layout = await stat(join(dataDir, LAYOUT_FILE)).catch(() => undefined);
  return layout === undefined;
}

/** Listens where the broker will, and lets go of it at once. Throws LISTEN_FAILED. */
export async function tryListening(settings: Settings): Promise<void> {
  const { host, port, "ops.host": opsHost, "ops.port": opsPort, "socket.path": path } = settings;
  await tryPort(host, port).catch((cause: unknown) => listenFailed(settings, "port", cause));
  if (settings["ops.enabled"]) {
    await tryPort(opsHost, opsPort).catch((cause: unknown) => listenFailed(settings, "ops.port", cause));
  }
  if (path === undefined) return;
  const other = await notASocket(path);
  if (other !== undefined) await listenFailed(settings, "socket.path", new Error(other));
}

async function tryPort(host: string, port: number): Promise<void> {
  // Any free one is found later, too.
  if (port === 0) return;
  const server = createServer().listen({ host, port, exclusive: true });
  await once(server, "listening");
  server.close();
  await once(server, "close");
}

/** Rejects LISTEN_FAILED. `place`: the setting to be changed. */
export async function listenFailed(settings: Settings, place: Place, cause: unknown): Promise<never> {
  const { code, message } = cause as NodeJS.ErrnoException;
  const path = settings["socket.path"];
  const other = place === "socket.path" && path !== undefined ? await notASocket(path) : undefined;
  const why = other ?? `${REASONS[code ?? ""] ?? message}${adviceOf(code, place)}`;
  throw new MillraceError("LISTEN_FAILED", `${whereOf(settings, place)}: cannot listen: ${why}`, { cause });
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "somebody listens there already",
  EADDRNOTAVAIL: "that address is not this machine's (EADDRNOTAVAIL)",
};

/** What to do, where the system's reason says what it is. */
function adviceOf(code: string | undefined, place: Place): string {
  if (code === "EADDRINUSE") return `; end that, or choose another ${place}`;
  if (place === "socket.path") return "";
  const host = place === "port" ? "host" : "ops.host";
  if (code === "EACCES")
    return `; choose 1024 or above for ${place}, or give the broker's user the right (CAP_NET_BIND_SERVICE)`;
  if (code === "EADDRNOTAVAIL")
    return `; choose another ${host}: 127.0.0.1 for this machine alone, 0.0.0.0 for all of its addresses`;
  return code === "ENOTFOUND" || code === "EAI_AGAIN"
    ? `; ${host} takes a name that this machine can look up, or an address`
    : "";
}

function whereOf(settings: Settings, place: Place): string {
  if (place === "port") return `host ${settings.host}, port ${settings.port}`;
  if (place === "ops.port") return `ops.host ${settings["ops.host"]}, ops.port ${settings["ops.port"]}`;
  return `socket.path ${settings["socket.path"]}`;
}

/** What stands where a socket is to be. Undefined: nothing, or a socket, which may be replaced. */
async function notASocket(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || found.isSocket()) return undefined;
  const what = found.isDirectory() ? "a directory" : found.isFile() ? "a file" : "something that is no socket";
  return `${what} is there; choose another socket.path, or remove it`;
}
