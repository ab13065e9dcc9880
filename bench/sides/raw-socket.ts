// What Node itself takes for the bytes that a reader gets: answers to FETCH over a plain socket, of which nothing but the length is looked at.
//
//   node raw-socket.js --broker HOST:PORT --topic NAME --max-bytes N --seconds N --record-bytes N --memory reused|fresh
//
// `fresh` takes new memory for each answer, as a reader must whose records may be kept; `reused` takes the same again and again. `record-bytes` is how
// much a record takes as it is stored: it tells the next offset without a look at the records.

import { connect } from "node:net";
import { FETCH_RESPONSE_HEAD_BYTES, fetchRequestBytes, writeFetchRequest } from "../../src/protocol/fetch.js";
import { LENGTH_BYTES } from "../../src/protocol/frame.js";
import { printResult, sideFlags } from "../lib/side.js";

export interface RawSocketSample {
  readonly storedBytes: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

const flags = sideFlags("broker", "topic", "max-bytes", "seconds", "record-bytes", "memory");
const [host, port] = flags.broker.split(":");
const maxBytes = Number(flags["max-bytes"]);
const recordBytes = Number(flags["record-bytes"]);
const isFresh = flags.memory === "fresh";
const answerBytes = FETCH_RESPONSE_HEAD_BYTES + maxBytes;

let answer = Buffer.allocUnsafeSlow(answerBytes);
let received = 0;
let offset = 0;
let storedBytes = 0;
let passes = 0;

const request = new DataView(new ArrayBuffer(fetchRequestBytes(flags.topic)));
function ask(): void {
  writeFetchRequest(request, 0, 1, flags.topic, 0, offset, maxBytes);
  socket.write(new Uint8Array(request.buffer));
}

function take(bytes: number): boolean {
  received += bytes;
  if (received < LENGTH_BYTES || received < LENGTH_BYTES + answer.readInt32BE(0)) return true;
  const payload = received - FETCH_RESPONSE_HEAD_BYTES;
  storedBytes += payload;
  offset += payload / recordBytes;
  if (payload === 0) {
    offset = 0;
    passes++;
  }
  received = 0;
  if (isFresh) answer = Buffer.allocUnsafeSlow(answerBytes);
  if (passes === 0 || performance.now() < until) ask();
  else socket.destroy();
  if (payload === 0 && passes === 1) begin();
  return true;
}

let until = Number.POSITIVE_INFINITY;
let begun = 0;
let cpu = process.cpuUsage();
/** Behind the first pass, when everything is compiled and warm. */
function begin(): void {
  storedBytes = 0;
  begun = performance.now();
  until = begun + Number(flags.seconds) * 1000;
  cpu = process.cpuUsage();
}

const socket = connect({
  host,
  port: Number(port),
  noDelay: true,
  onread: { buffer: () => answer.subarray(received), callback: take },
});
socket.once("connect", ask);
await new Promise((resolve, reject) => socket.once("close", resolve).once("error", reject));
const seconds = (performance.now() - begun) / 1000;
const { user, system } = process.cpuUsage(cpu);
printResult({ storedBytes, seconds, cpuSeconds: (user + system) / 1e6 } satisfies RawSocketSample);
