// Requests that are valid, of every kind and version, and what is done to them.

import { concat } from "../../../test/support/bytes.js";
import {
  fetch,
  hello,
  int16,
  int64,
  listOffsets,
  metadata,
  multiFetch,
  produce,
  produceAt,
  waitingFetch,
} from "../../../test/support/wire.js";
import type { Random } from "../../lib/random.js";

/** Topics that a broker under test has, with their partitions. */
export const TOPICS: Readonly<Record<string, number>> = { orders: 2, "a.b_c-D": 1 };
const NAMES = [...Object.keys(TOPICS), "orders", "orders", "nobody", "x".repeat(249)];

const OFFSETS = [0, 0, 1, 5, 100, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, 2n ** 62n] as const;

const payloads = (random: Random): Uint8Array[] =>
  Array.from({ length: random.int(1, 6) }, () => random.bytes(random.skewed(1, 300)));

/** One request, valid by its grammar. */
export function validRequest(random: Random, correlation: number): Uint8Array {
  const topic = random.pick(NAMES);
  const partition = random.pick([0, 0, 0, 1, 2]);
  const at = { topic, partition, correlation };
  const ack = random.pick([0, 1, 1, 2]);
  const maxBytes = random.pick([1, 100, 4096, 1 << 20, 0x7fffffff]);
  const makers: readonly (() => Uint8Array)[] = [
    () => produce(payloads(random), { ...at, ack }),
    () => produceAt(random.pick([-1, -1, ...OFFSETS]), payloads(random), { ...at, ack }),
    () => fetch(random.pick(OFFSETS), { ...at, maxBytes }),
    () => waitingFetch(random.pick(OFFSETS), { ...at, maxBytes, maxWaitMs: random.pick([0, 1, 60_000]), minBytes: 1 }),
    () => multiFetch(positions(random), { correlation, maxBytes, maxWaitMs: random.pick([0, 1, 60_000]) }),
    () => metadata(random.pick([[], [topic], [topic, "orders", topic]]), random.pick([1, 2]), correlation),
    () => hello(correlation),
    () => listOffsets(random.pick([-2, -1, 0, Date.now(), 2n ** 60n]), topic, partition, correlation),
  ];
  return random.pick(makers)();
}

function positions(random: Random) {
  const all = ["orders", "a.b_c-D", "nobody"].flatMap((topic) => [0, 1].map((partition) => ({ topic, partition })));
  return random
    .shuffled(all)
    .slice(0, random.int(1, all.length + 1))
    .map((at) => ({ ...at, offset: random.pick(OFFSETS), epoch: random.pick([-1, 0, 7]), maxBytes: 4096 }));
}

const EXTREMES_8 = [0, 1, 0x7f, 0x80, 0xff];
const EXTREMES_16 = [0, 1, 2, 249, 250, 0x7fff, 0x8000, 0xffff];
const EXTREMES_32 = [
  -0x80000000, -0x7fffffff, -2, -1, 0, 1, 2, 5, 1000, 1001, 10_001, 0x40000000, 0x7ffffffe, 0x7fffffff,
];
const EXTREMES_64 = [
  -(2n ** 63n),
  -(2n ** 53n),
  -3n,
  -2n,
  -1n,
  0n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 62n,
  2n ** 63n - 1n,
];

const int32 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value);
  return bytes;
};

/** Every number of every width at its extremes. */
export const extremes: readonly Uint8Array[] = [
  ...EXTREMES_8.map((value) => Uint8Array.of(value)),
  ...EXTREMES_16.map(int16),
  ...EXTREMES_32.map(int32),
  ...EXTREMES_64.map(int64),
];

/** With an extreme over what stands at a place. A copy in any case, which `slice` of a Buffer is not. */
export function withAt(bytes: Uint8Array, at: number, value: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(bytes);
  const room = changed.length - at;
  if (room > 0) changed.set(value.subarray(0, room), at);
  return changed;
}

/** Some damage. The length of its frame may be right or wrong afterwards. */
export function damaged(random: Random, bytes: Uint8Array): Uint8Array {
  let result = bytes;
  for (let times = random.int(1, 4); times > 0; times--) {
    const at = random.int(0, result.length + 1);
    const ways: readonly (() => Uint8Array)[] = [
      () => withAt(result, at, random.pick(extremes)),
      () => withAt(result, at, random.pick(extremes)),
      () => withAt(result, random.int(0, 12), random.pick(extremes)),
      () => withAt(result, at, random.bytes(1)),
      () => concat(result.subarray(0, at), result.subarray(Math.min(result.length, at + random.skewed(1, 20)))),
      () => concat(result.subarray(0, at), random.bytes(random.skewed(1, 20)), result.subarray(at)),
      () => result.subarray(0, at),
    ];
    result = random.pick(ways)();
  }
  return random.chance(0.7) ? framed(result) : result;
}

/** With the length that it has. */
export function framed(bytes: Uint8Array): Uint8Array {
  return bytes.length < 5 ? bytes : withAt(bytes, 0, int32(bytes.length - 4));
}
