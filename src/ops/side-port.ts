// The HTTP side port: is it alive, is it ready. It reads only. It answers only who asks under its own address or a name that
// is allowed: a web page elsewhere whose name was pointed at this address asks under that name, and gets nothing.
//
// On node:http itself: two fixed paths, no bodies, no parameters. A router would be a dependency and part of the start-up
// time without a route to route.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import type { BrokerHealth } from "../broker/broker.js";
import { OPS_CONNECTIONS_MAX, OPS_REQUEST_MS } from "../model/limits.js";

export interface SidePortOptions {
  readonly host: string;
  readonly port: number;
  readonly allowedHosts: readonly string[];
  /** Undefined while partitions are being opened. */
  readonly health: () => BrokerHealth | undefined;
  readonly stopping: () => boolean;
}

export interface SidePort {
  readonly port: number;
  close(): Promise<void>;
}

export async function openSidePort(options: SidePortOptions): Promise<SidePort> {
  const server = createServer((request, response) => answer(options, request, response));
  server.maxConnections = OPS_CONNECTIONS_MAX;
  server.requestTimeout = OPS_REQUEST_MS;
  server.headersTimeout = OPS_REQUEST_MS;
  server.keepAliveTimeout = OPS_REQUEST_MS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function answer(options: SidePortOptions, request: IncomingMessage, response: ServerResponse): void {
  if (!isAskedByOwnName(options, request)) {
    send(response, 421, { error: "not a name of this broker; ops.allowed.hosts takes more" });
    return;
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    send(response, 405, { error: "it reads only" });
    return;
  }
  switch ((request.url ?? "").split("?", 1)[0]) {
    case "/healthz":
      send(response, 200, { live: true });
      return;
    case "/readyz": {
      const state = readiness(options.health(), options.stopping());
      send(response, state.ready ? 200 : 503, state);
      return;
    }
    default:
      send(response, 404, { error: "no such page; there are /healthz and /readyz" });
  }
}

interface Readiness {
  readonly ready: boolean;
  /** Why not, in sentences. */
  readonly reasons: readonly string[];
  readonly refused: BrokerHealth["refused"];
  readonly poisoned: BrokerHealth["poisoned"];
  readonly diskAvailableBytes?: number;
  readonly diskMissingBytes?: number;
}

function readiness(health: BrokerHealth | undefined, stopping: boolean): Readiness {
  if (health === undefined) {
    return { ready: false, reasons: ["partitions are being opened"], refused: [], poisoned: [] };
  }
  const reasons: string[] = [];
  if (stopping) reasons.push("the broker is stopping");
  for (const { partition, reason } of health.refused) reasons.push(`${partition} refused to open: ${reason}`);
  for (const { partition, reason } of health.poisoned) reasons.push(`${partition} refuses writes: ${reason}`);
  const { diskFull, ...shown } = health;
  if (diskFull) reasons.push("the disk is full up to disk.reserve.bytes");
  return { ready: reasons.length === 0, reasons, ...shown };
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
  });
  response.end(response.req.method === "HEAD" ? undefined : text);
}

/** The host of `Host:`, without its port. */
function hostOf(header: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(header) ?? [];
  return (bracketed ?? plain ?? "").toLowerCase();
}

function isAskedByOwnName(options: SidePortOptions, request: IncomingMessage): boolean {
  const host = hostOf(request.headers.host ?? "");
  if (host === "") return false;
  if (host === options.host.toLowerCase() || options.allowedHosts.some((name) => hostOf(name) === host)) return true;
  // The address at which it was reached is its own, whatever `ops.host` says (0.0.0.0 is nobody's).
  const local = (request.socket.localAddress ?? "").replace(/^::ffff:/, "");
  if (isIP(host) !== 0) return host === local;
  return host === "localhost" && (local.startsWith("127.") || local === "::1");
}
