// The HTTP side port. It reads only: GET and HEAD, no bodies. It answers only who asks under its own address or a name that is
// allowed: a web page elsewhere whose name was pointed at this address asks under that name, and gets nothing. Liveness and
// readiness are answered from here at any time; what else there is, is a table of routes that it is given.
//
// A connection has one request at a time. HTTP allows to send the next before the answer has come, and then a single packet is a
// thousand pages that wait in memory behind each other, and a live tail behind an answer never hears that its reader has gone. No
// browser, no Prometheus and no probe does that: a connection that does is cut.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, isIP, type Socket } from "node:net";
import type { BrokerHealth } from "../broker/broker.js";
import { OPS_CHECK_MS, OPS_CONNECTIONS_MAX, OPS_REQUEST_MS, OPS_STALL_MS } from "../model/limits.js";
import { json, type Reply, secure, send } from "./side-port-answer.js";
import { readiness } from "./side-port-health.js";
import { findRoute, type Route } from "./side-port-routes.js";

export interface SidePortOptions {
  readonly host: string;
  readonly port: number;
  readonly allowedHosts: readonly string[];
  /** Undefined while partitions are being opened. */
  readonly health: () => BrokerHealth | undefined;
  readonly stopping: () => boolean;
  /** Beside /healthz and /readyz; the first that fits. */
  readonly routes?: readonly Route[];
  /** Instead of {@link OPS_STALL_MS}. */
  readonly stallMs?: number;
}

export interface SidePort {
  readonly port: number;
  close(): Promise<void>;
}

export async function openSidePort(options: SidePortOptions): Promise<SidePort> {
  const routes = [...healthRoutes(options), ...(options.routes ?? [])];
  const answering = new WeakSet<Socket>();
  const server = createServer({ connectionsCheckingInterval: OPS_CHECK_MS }, (request, response) => {
    const { socket } = request;
    if (answering.has(socket)) {
      socket.destroy();
      return;
    }
    answering.add(socket);
    response.once("close", () => answering.delete(socket));
    void answer(options, routes, request, response);
  });
  server.maxConnections = OPS_CONNECTIONS_MAX;
  server.requestTimeout = OPS_REQUEST_MS;
  server.headersTimeout = OPS_REQUEST_MS;
  server.keepAliveTimeout = OPS_REQUEST_MS;
  server.timeout = options.stallMs ?? OPS_STALL_MS;
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

const healthRoutes = ({ health, stopping }: SidePortOptions): readonly Route[] => [
  { pattern: "/healthz", answer: () => json(200, { live: true }) },
  {
    pattern: "/readyz",
    answer: () => {
      const state = readiness(health(), stopping());
      return json(state.ready ? 200 : 503, state);
    },
  },
];

async function answer(
  options: SidePortOptions,
  routes: readonly Route[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  secure(response);
  const refusal = refuse(options, request);
  if (refusal !== undefined) {
    send(response, refusal);
    return;
  }
  const [path = "", query] = splitUrl(request.url ?? "");
  const found = findRoute(routes, path);
  if (found === undefined) {
    send(response, json(404, { error: "no such page", code: "NOT_FOUND" }));
    return;
  }
  try {
    const asked = { parts: found.parts, query: new URLSearchParams(query), request, response };
    const reply = await found.route.answer(asked);
    if (reply !== undefined) send(response, reply);
  } catch (error) {
    // Routes answer what can fail. This is a fault of ours, told to whoever sees it first.
    send(response, json(500, { error: error instanceof Error ? error.message : String(error), code: "INTERNAL" }));
  }
}

function refuse(options: SidePortOptions, request: IncomingMessage): Reply | undefined {
  if (!isAskedByOwnName(options, request)) {
    return json(421, { error: "not a name of this broker; ops.allowed.hosts takes more", code: "FORBIDDEN" });
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    return { ...json(405, { error: "it reads only", code: "BAD_REQUEST" }), headers: { allow: "GET, HEAD" } };
  }
  // A page elsewhere could not read the answer, but could ask for enough of them, also by frames that nobody sees. Following a
  // link to here is not that.
  if (isOfAnotherOrigin(request)) {
    return json(403, { error: "not for pages of other origins", code: "FORBIDDEN" });
  }
  return undefined;
}

function isOfAnotherOrigin({ headers }: IncomingMessage): boolean {
  const { "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": destination, origin, host } = headers;
  // Browsers say the site only to loopback and over TLS. Elsewhere scripts that would read the answer still have an origin.
  if (site === undefined) return origin !== undefined && origin.replace(/^https?:\/\//, "") !== host?.toLowerCase();
  const isLink = mode === "navigate" && destination === "document";
  return site !== "same-origin" && site !== "none" && !isLink;
}

function splitUrl(url: string): [path: string, query: string] {
  const at = url.indexOf("?");
  return at < 0 ? [url, ""] : [url.slice(0, at), url.slice(at + 1)];
}

/** The host of `Host:`, without its port. */
function hostOf(header: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(header) ?? [];
  return (bracketed ?? plain ?? "").toLowerCase();
}

/** Names are given with a port or without, addresses of IPv6 with brackets or without. */
const isNamed = (allowed: string, host: string): boolean =>
  hostOf(isIP(allowed) === 6 ? `[${allowed}]` : allowed) === host;

function isAskedByOwnName(options: SidePortOptions, request: IncomingMessage): boolean {
  const host = hostOf(request.headers.host ?? "");
  if (host === "") return false;
  if (host === options.host.toLowerCase() || options.allowedHosts.some((name) => isNamed(name, host))) return true;
  // The address at which it was reached is its own, whatever `ops.host` says (0.0.0.0 is nobody's).
  const local = (request.socket.localAddress ?? "").replace(/^::ffff:/, "");
  if (isIP(host) !== 0) return host === local;
  return host === "localhost" && (local.startsWith("127.") || local === "::1");
}
