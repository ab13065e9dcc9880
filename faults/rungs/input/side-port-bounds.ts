// What the side port must refuse: who asks under another name, what is no reading, pages of other origins, a second request before the first is answered, too
// many connections, and a request that never ends.

import { connect, type Socket } from "node:net";
import { OPS_CONNECTIONS_MAX, OPS_REQUEST_MS } from "../../../src/model/limits.js";

const SOON_MS = 5_000;
/** It looks once a second, and a busy machine makes more of that. */
const LATE_MS = 12_000;
const TOO_MANY = 8;

const asked = (head: string, headers: string): string => `${head} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`;

const REFUSED: readonly (readonly [text: string, status: number, what: string])[] = [
  [asked("GET /healthz", "Host: localhost\r\n"), 200, "its own name"],
  [asked("GET /healthz", "Host: evil.example\r\n"), 421, "another name"],
  [asked("POST /healthz", "Host: localhost\r\nContent-Length: 0\r\n"), 405, "a POST"],
  [asked("GET /healthz", "Host: localhost\r\nOrigin: http://evil.example\r\n"), 403, "a page of another origin"],
  [asked("GET /healthz", "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n"), 403, "a page of another site"],
];

/** What is wrong. */
export async function sidePortBounds(port: number): Promise<string[]> {
  const wrong: string[] = [];
  for (const [text, status, what] of REFUSED) {
    const got = /^HTTP\/1\.1 (\d+)/.exec(await said(port, text))?.[1];
    if (got !== String(status)) wrong.push(`the side port answers ${got} to ${what}, and not ${status}`);
  }
  const line = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const answers = (await said(port, line + line)).split("HTTP/1.1 200").length - 1;
  if (answers > 1) wrong.push(`the side port answers ${answers} requests that came before an answer`);

  const began = performance.now();
  const half = await opened(port);
  half.socket.write("GET /healthz HTTP/1.1\r\nHost: loc");
  const many = await Promise.all(Array.from({ length: OPS_CONNECTIONS_MAX + TOO_MANY }, () => opened(port)));
  await until(() => many.filter(({ isOpen }) => !isOpen()).length > TOO_MANY, SOON_MS);
  const open = many.filter(({ isOpen }) => isOpen()).length + 1;
  if (open > OPS_CONNECTIONS_MAX)
    wrong.push(`the side port has ${open} connections, and ${OPS_CONNECTIONS_MAX} may be`);
  await until(() => !half.isOpen(), OPS_REQUEST_MS + LATE_MS);
  const took = performance.now() - began;
  if (half.isOpen()) wrong.push(`half a request to the side port is there after ${Math.round(took)} ms`);
  for (const { socket } of [half, ...many]) socket.destroy();
  return wrong;
}

async function until(isSo: () => boolean, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (!isSo() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 50));
}

interface Opened {
  readonly socket: Socket;
  readonly isOpen: () => boolean;
}

function opened(port: number): Promise<Opened> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let open = true;
    socket.on("error", () => undefined);
    socket.resume();
    socket.once("close", () => {
      open = false;
      resolve({ socket, isOpen: () => open });
    });
    socket.once("connect", () => resolve({ socket, isOpen: () => open }));
  });
}

/** All that comes until it is closed, or for a while. */
async function said(port: number, text: string): Promise<string> {
  const { socket, isOpen } = await opened(port);
  let received = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    received += part;
  });
  socket.write(text);
  await until(() => !isOpen(), SOON_MS);
  socket.destroy();
  return received;
}
