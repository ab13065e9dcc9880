// Where a broker is: host and port, or the path of a Unix socket.

import { badArgument, shown } from "../model/arguments.js";
import { MillraceError } from "../model/errors.js";

/** Where a broker listens when nobody says otherwise. */
export const DEFAULT_BROKER = "127.0.0.1:4710";
const DEFAULT_PORT = 4710;

/** What a socket's name holds, without its end: Node would connect to the one that the beginning of a longer path names. */
const SOCKET_PATH_BYTES_MAX = process.platform === "darwin" ? 103 : 107;

export type BrokerAddress = { readonly host: string; readonly port: number } | { readonly path: string };

/**
 * `host:port`, `host` (port 4710), `[::1]:4710`, or a path with a slash in it for a Unix socket. Throws BAD_ARGUMENT.
 */
export function parseBrokerAddress(text: string): BrokerAddress {
  if (typeof text !== "string") throw badArgument("broker", text, "host:port or the path of a Unix socket");
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(text)) {
    throw badArgument("broker", text, "host:port without a scheme: the protocol is none of the web's");
  }
  if (text.includes("/")) {
    const bad = badSocketPath(text);
    if (bad !== undefined) throw bad;
    return { path: text };
  }
  const match = /^(?:\[(?<v6>[0-9A-Fa-f:.%\w]+)\]|(?<host>[^:\s[\]]+))(?::(?<port>\d{1,5}))?$/.exec(text);
  const host = match?.groups?.v6 ?? match?.groups?.host;
  const port = match?.groups?.port === undefined ? DEFAULT_PORT : Number(match.groups.port);
  if (host === undefined || port < 1 || port > 65_535) {
    const expected = "expected host:port, [IPv6]:port, or the path of a Unix socket";
    throw new MillraceError("BAD_ARGUMENT", `${shown(text)} is no broker address: ${expected}`);
  }
  return { host, port };
}

function badSocketPath(path: string): MillraceError | undefined {
  if (path.includes("\0")) return badArgument("broker", path, "a path without NUL");
  if (path.startsWith("unix:")) return badArgument("broker", path, "the path of a Unix socket alone");
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return undefined;
  return badArgument("broker", path, `the path of a Unix socket, which has at most ${SOCKET_PATH_BYTES_MAX} bytes`);
}

/** For messages: `127.0.0.1:4710`, `[::1]:4710`, `/run/millrace.sock`. */
export function addressText(address: BrokerAddress): string {
  if ("path" in address) return address.path;
  return address.host.includes(":") ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}
