// How the side port answers: a status, a type, and headers that keep a browser from doing anything with it but showing it.

import type { ServerResponse } from "node:http";

export interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Scripts, styles and connections of the page's own origin, and nothing else; no frame around it, no form out of it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const SECURITY: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

/** On every answer, whoever writes it. */
export function secure(response: ServerResponse): void {
  for (const [name, value] of Object.entries(SECURITY)) response.setHeader(name, value);
}

export const json = (status: number, body: object): Reply => ({
  status,
  type: "application/json; charset=utf-8",
  body: `${JSON.stringify(body)}\n`,
});

export function send(response: ServerResponse, { status, type, body, headers }: Reply): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(status, {
    "content-type": type,
    "content-length": typeof body === "string" ? Buffer.byteLength(body) : body.length,
    "cache-control": "no-store",
    ...headers,
  });
  response.end(response.req.method === "HEAD" ? undefined : body);
}
