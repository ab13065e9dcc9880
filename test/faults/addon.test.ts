// The parts of the rungs `addon` and `load` that judge: that nothing the addon exports is left out, whose a leak is, what counts as growth.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Random } from "../../faults/lib/random.js";
import { detached, hostileValues, isOfKind } from "../../faults/rungs/addon/hostile.js";
import { leaksOf } from "../../faults/rungs/addon/sanitized.js";
import {
  constants,
  fileGetters,
  fileMethods,
  functions,
  lockMethods,
  type Methods,
  selectorMethods,
  selectorOptionsOf,
  writerGetters,
  writerMethods,
} from "../../faults/rungs/addon/surface.js";
import { judgeGrowth } from "../../faults/rungs/load/play.js";
import type { Sample } from "../../faults/rungs/load/sample.js";
import { native } from "../../src/native/binding.js";
import { created, optionsOf } from "../native/support/segments.js";
import { tempDir } from "../support/tmp.js";

const membersOf = (object: object): string[] =>
  Object.getOwnPropertyNames(Object.getPrototypeOf(object))
    .filter((name) => name !== "constructor")
    .sort();
const listed = (methods: Methods, getters: readonly string[] = []): string[] =>
  [...Object.keys(methods), ...getters].sort();

describe("the list of what is called", () => {
  it("has every function and constant of the addon", () => {
    expect(Object.keys(native).sort()).toEqual([...Object.keys(functions), ...constants].sort());
  });

  it("has every method and getter of every object", async () => {
    const writer = await created(optionsOf({ path: "MAPPED", format: "crc32c" }));
    expect(membersOf(writer)).toEqual(listed(writerMethods, writerGetters));
    expect(membersOf(writer.file)).toEqual(listed(fileMethods, fileGetters));
    const lock = native.lockFile(join(tempDir("lock"), "lock"));
    expect(membersOf(lock)).toEqual(listed(lockMethods));
    lock.release();
    const selector = new native.Selector(selectorOptionsOf(new Random(1)), () => undefined);
    expect(membersOf(selector)).toEqual(listed(selectorMethods));
    selector.destroy();
  });
});

describe("a value of a wrong kind", () => {
  it("is told from one of the kind, also where it only looks like it", () => {
    expect(isOfKind(new Uint8Array(1), "bytes")).toBe(true);
    expect(isOfKind(Buffer.alloc(1), "bytes")).toBe(true);
    expect(isOfKind(new Proxy(new Uint8Array(1), {}), "bytes")).toBe(false);
    expect(isOfKind(new Uint8ClampedArray(1), "bytes")).toBe(false);
    expect(isOfKind(new Proxy([], {}), "array")).toBe(false);
    expect(isOfKind(Object(1), "number")).toBe(false);
    expect(isOfKind(null, "object")).toBe(false);
    expect(detached(new Uint8Array(5)).length).toBe(0);
  });

  it("is made of each type, without an exception", () => {
    const types = new Set(hostileValues([]).map((make) => typeof make()));
    expect([...types].sort()).toEqual(
      ["bigint", "boolean", "function", "number", "object", "string", "symbol", "undefined"].sort(),
    );
  });
});

describe("a leak", () => {
  const report = (...frames: string[]): string =>
    `==1==ERROR: LeakSanitizer\n\nDirect leak of 8 byte(s) in 1 object(s) allocated from:\n${frames.map((frame, at) => `    #${at} 0x1 in ${frame}`).join("\n")}\n`;
  const allocator = "operator new(unsigned long) asan_new_delete.cpp:95";

  it("is the addon's when the addon asked for the memory, whoever had called it", () => {
    const ours = report(
      allocator,
      "millrace::Append(napi_env__*) ../native/x.cc:1",
      "v8::internal::X (/usr/bin/node+0x1)",
    );
    expect(leaksOf(ours)).toHaveLength(1);
  });

  it("is Node's when Node asked for it, also on the addon's behalf", () => {
    expect(leaksOf(report(allocator, "v8::X (/usr/bin/node+0x1)", "millrace::Y() ../native/x.cc:1"))).toEqual([]);
    expect(leaksOf(report(allocator, "(/usr/bin/node+0x14c51fe)"))).toEqual([]);
  });
});

describe("memory at low points", () => {
  const MiB = 1024 * 1024;
  const judged = (...memory: number[]): string[] => {
    const said: string[] = [];
    const low = memory.map(
      (value): Sample => ({
        at: 0,
        memory: value * MiB,
        descriptors: 0,
        connections: 0,
        queuedBytes: 0,
        waitingFetches: 0,
      }),
    );
    judgeGrowth(low, (what) => said.push(what));
    return said;
  };

  it("that stays, or was high in between, is no growth", () => {
    expect(judged(100, 120, 130, 125, 128, 140)).toEqual([]);
    expect(judged(50, 300, 120, 125, 400, 128)).toEqual([]);
  });

  it("that goes up round by round is", () => {
    expect(judged(100, 120, 140, 160, 180, 200)).toHaveLength(1);
  });
});
