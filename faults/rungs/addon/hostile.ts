// Values that nobody should pass, and what is wrong about them. Those with code in them (getters, traps, conversions) run it at the worst moment.

import { types } from "node:util";
import type { Random } from "../../lib/random.js";
import type { Kind } from "./surface.js";

/** What traps and getters throw: an exception of the caller's own, which comes through as it is. */
export class Trapped extends Error {
  override readonly name = "Trapped";
}

const trap = (): never => {
  throw new Trapped("a trap");
};

export function detached<T extends Uint8Array | Int32Array | Uint32Array | Float64Array>(array: T): T {
  structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
  return array;
}

const revoked = (): unknown => {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
};

type Resizable = new (length: number, options: { maxByteLength: number }) => ArrayBuffer & { resize(to: number): void };

/** Its memory was larger when it was made. */
function shrunk(): Uint8Array {
  const buffer = new (ArrayBuffer as unknown as Resizable)(1 << 16, { maxByteLength: 1 << 20 });
  const array = new Uint8Array(buffer);
  buffer.resize(8);
  return array;
}

const long = (() => {
  const array: unknown[] = [];
  array.length = 2 ** 32 - 1;
  return array;
})();

const NUMBERS = [0, -0, 1, -1, 2, 7, 100, 65_536, 2 ** 26, 2 ** 31, 2 ** 32, 2 ** 53, 1.5, -(2 ** 31)];
const MORE_NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e308, 5e-324, 2 ** 53 - 1];

/** Each makes a fresh one. `objects`: natives of all classes, in whatever state they are. */
export function hostileValues(objects: readonly unknown[]): readonly (() => unknown)[] {
  return [
    ...[...NUMBERS, ...MORE_NUMBERS].map((value) => () => value),
    ...objects.map((value) => () => value),
    () => undefined,
    () => null,
    () => true,
    () => false,
    () => 10n,
    () => Symbol("s"),
    () => "",
    () => "x",
    () => "a\0b",
    () => "\ud800",
    () => "n".repeat(5000),
    () => ({}),
    () => Object.create(null),
    () => [],
    () => long,
    () => [undefined],
    () => [new Uint8Array(100), detached(new Uint8Array(10))],
    () => () => undefined,
    () => trap,
    () => class {},
    () => new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap }),
    () => new Proxy([new Uint8Array(8)], { get: trap }),
    () => new Proxy(new Uint8Array(8), {}),
    revoked,
    () => ({ valueOf: trap, toString: trap, [Symbol.toPrimitive]: trap }),
    () => new Uint8Array(0),
    () => new Uint8Array(100).fill(255),
    () => Buffer.alloc(33, 1),
    () => new Uint8ClampedArray(100),
    () => new Int32Array(64).fill(-1),
    () => new Int32Array(7).fill(2 ** 31 - 1),
    () => new Uint32Array(64).fill(2 ** 32 - 1),
    () => new Uint32Array(3),
    () => new Float64Array(16),
    () => new BigInt64Array(16),
    () => new DataView(new ArrayBuffer(64)),
    () => new ArrayBuffer(64),
    () => new Uint8Array(new SharedArrayBuffer(64)),
    () => new Int32Array(new SharedArrayBuffer(256)),
    () => detached(new Uint8Array(100)),
    () => detached(new Int32Array(64)),
    () => detached(new Uint32Array(64)),
    shrunk,
    () => new Date(),
    () => /x/,
    () => new Map(),
    () => Promise.resolve(1),
    () => new Error("e"),
    () => new Number(3),
    () => new String("x"),
    () => globalThis,
  ];
}

/** Whether it is of the kind at all: of another it is a TypeError, always. */
export function isOfKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case "number":
    case "boolean":
    case "function":
      return typeof value === kind;
    case "path":
      return typeof value === "string";
    case "bytes":
      return isTyped(value, "Uint8Array");
    case "int32s":
      return isTyped(value, "Int32Array");
    case "uint32s":
      return isTyped(value, "Uint32Array");
    case "float64s":
      return isTyped(value, "Float64Array");
    case "array":
      return isArray(value);
    case "object":
      return typeof value === "object" && value !== null;
  }
}

const tagOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)!.get!;
/** By what it is, not by what it says: a proxy of one is none. */
const isTyped = (value: unknown, name: string): boolean => tagOf.call(value) === name;

function isArray(value: unknown): boolean {
  try {
    // A proxy of one counts for JavaScript and not for Node-API.
    return Array.isArray(value) && !types.isProxy(value);
  } catch {
    return false;
  }
}

export interface Prey {
  /** Detaches arrays and ends objects that the call under way has already looked at. */
  readonly strike: () => void;
}

/** An array whose element, when it is read, strikes. */
export function strikingArray(first: readonly unknown[], last: unknown, { strike }: Prey): unknown[] {
  const array = [...first, last];
  Object.defineProperty(array, first.length, {
    get: () => {
      strike();
      return last;
    },
  });
  return array;
}

/** Options of which one field, when it is read, strikes. */
export function strikingOptions(options: Readonly<Record<string, unknown>>, random: Random, { strike }: Prey): unknown {
  const name = random.pick(Object.keys(options));
  const value = options[name];
  return Object.defineProperty({ ...options }, name, {
    get: () => {
      strike();
      return value;
    },
  });
}
