// The side port, asked oddly: it answers with a status that is no fault of its own, or closes, and goes on.

import { connect } from "node:net";
import type { Random } from "../../lib/random.js";

const ASK_MS = 10_000;
/** Random ones, behind those that are written here. */
const RANDOM_ASKS = 150;

const LONG = "a".repeat(12_000);
const request = (path: string, headers = "Host: localhost\r\n", method = "GET"): string =>
  `${method} ${path} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`;

const ODD: readonly string[] = [
  ..."/ // /../../../etc/passwd /%2e%2e/%2e%2e/etc/passwd /%00 /%ff /%zz /%25 /healthz/ /healthz? /healthz?? /api /api/ /api// /api/topics/%2F /api/topics/~.. /console/../../package.json * ? # http://other/healthz"
    .split(" ")
    .map((path) => request(path)),
  request(`/${LONG}`),
  request(`/api/topics?from=${LONG}`),
  request(`/api/topics?${"a=b&".repeat(3000)}`),
  request("/healthz", ""),
  request("/healthz", "Host: evil.example\r\n"),
  request("/healthz", "Host: localhost\r\nHost: evil.example\r\n"),
  request("/healthz", `Host: ${LONG}\r\n`),
  request("/healthz", "Host: [::1\r\n"),
  request("/healthz", "Host: localhost\r\nOrigin: http://evil.example\r\n"),
  request("/healthz", `Host: localhost\r\n${"X-Y: z\r\n".repeat(3000)}`),
  request("/healthz", "Host: localhost\r\nContent-Length: 99999999999999999999\r\n"),
  request("/healthz", "Host: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
  request("/healthz", "Host: localhost\r\nRange: bytes=-1\r\nIf-None-Match: *\r\nExpect: 100-continue\r\n"),
  request("/healthz", "Host: localhost\r\nUpgrade: websocket\r\n"),
  ...["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "NONSENSE"].map((method) =>
    request("/healthz", "Host: localhost\r\n", method),
  ),
  "GET /healthz\r\n\r\n",
  "GET /healthz HTTP/9.9\r\n\r\n",
  "\r\n\r\n\r\n",
  "\0\0\0\x08\0\x04\0\x01\0\0\0\x01",
  `${request("/healthz")}${request("/readyz")}`,
];

const PATHS = [
  "/api/broker",
  "/api/rates",
  "/api/topics",
  "/api/topics/orders",
  "/api/topics/orders/partitions/0",
  "/api/topics/orders/partitions/0/records",
  "/api/topics/orders/partitions/0/offset",
  "/api/topics/orders/partitions/99999999999999999999",
  "/api/topics/orders/partitions/-1/records",
  "/metrics",
  "/readyz",
];
const PARAMETERS = ["from", "limit", "since", "offset", "time", "timestamp", "bytes", "max", "payload", "constructor"];
const VALUES = [
  "",
  "0",
  "-1",
  "1e3",
  "1e400",
  "NaN",
  "9007199254740991",
  "9007199254740992",
  "-0",
  "0x10",
  "%00",
  "%",
  "%F0%9F",
  "a",
  " 1",
];

export async function trySidePort(
  port: number,
  random: Random,
  forMs: number,
): Promise<{ asked: number; wrong: string[] }> {
  const wrong: string[] = [];
  let asked = 0;
  const until = performance.now() + forMs;
  const asks = [...ODD, ...Array.from({ length: RANDOM_ASKS }, () => randomAsk(random))];
  for (const text of asks) {
    // Those that are written here are asked in any case.
    if (wrong.length > 0 || (asked >= ODD.length && performance.now() > until)) break;
    const answer = await ask(port, text);
    asked++;
    const problem = problemOf(answer);
    if (problem !== undefined) wrong.push(`the side port ${problem}, asked ${JSON.stringify(text.slice(0, 300))}`);
  }
  const alive = await ask(port, request("/healthz"));
  if (alive?.status !== 200)
    wrong.push(`the side port does not say any more that it lives: ${alive?.text.slice(0, 200)}`);
  return { asked, wrong };
}

function randomAsk(random: Random): string {
  const query = Array.from({ length: random.int(0, 4) }, () => `${random.pick(PARAMETERS)}=${random.pick(VALUES)}`);
  const text = request(`${random.pick(PATHS)}?${query.join("&")}`);
  if (random.chance(0.7)) return text;
  const at = random.int(0, text.length);
  return text.slice(0, at) + String.fromCharCode(random.int(0, 256)) + text.slice(at + random.int(0, 3));
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

function problemOf(answer: Answer | undefined): string | undefined {
  if (answer === undefined) return "neither answers nor closes";
  const { status, text } = answer;
  if (status === 500 || (status ?? 0) > 504) return `answered ${status}: ${text.slice(-300)}`;
  if (/\n\s+at .*:\d+:\d+/.test(text)) return `shows its insides: ${text.slice(-300)}`;
  if (/root:.*:0:0:|"devDependencies"/.test(text)) return "gave a file away";
  return undefined;
}

/** Undefined: nothing came, and it was not closed. What is incomplete is ended by us after a moment. */
function ask(port: number, text: string): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    let received = "";
    const finish = (came: boolean): void => {
      clearTimeout(late);
      clearTimeout(enough);
      socket.destroy();
      const status = /^HTTP\/1\.1 (\d{3})/.exec(received)?.[1];
      resolve(came ? { status: status === undefined ? undefined : Number(status), text: received } : undefined);
    };
    const late = setTimeout(() => finish(false), ASK_MS);
    // A request that became incomplete, or a stream without an end: nothing more will come of it.
    const enough = setTimeout(() => socket.end(), 300);
    socket.setEncoding("latin1");
    socket.on("data", (part: string) => {
      received += part;
    });
    socket.on("error", () => undefined);
    socket.on("close", () => finish(true));
    socket.on("end", () => finish(true));
    socket.on("connect", () => socket.write(text, "latin1"));
  });
}
