// What may not be written: any, default exports, enums, what blocks the loop, hidden clocks and timers.

import { describe, expect, it } from "vitest";
import { bannedSyntax, blockingAllowed, blockingCalls, clockReadings, timerUses } from "./ban-rules.js";
import { filesBelow, type Source } from "./sources.js";

const planted = (text: string): Source => ({ path: "src/planted.ts", text });
const product = filesBelow("src", [".ts"]);

describe("bans", () => {
  it("no any, no default export, no enum in src/, test/, bench/ and faults/", () => {
    const all = [...product, ...["test", "bench", "faults"].flatMap((dir) => filesBelow(dir, [".ts"]))];
    expect(all.flatMap(bannedSyntax)).toEqual([]);
  });

  it("nothing that blocks the event loop, outside start-up", () => {
    expect(product.filter(({ path }) => !blockingAllowed.has(path)).flatMap(blockingCalls)).toEqual([]);
  });

  it("every exception for what blocks is still needed", () => {
    const needed = product.filter((source) => blockingCalls(source).length > 0).map(({ path }) => path);
    expect([...blockingAllowed.keys()].filter((path) => !needed.includes(path))).toEqual([]);
  });

  it("no timer in storage/", () => {
    expect(product.filter(({ path }) => path.startsWith("src/storage/")).flatMap(timerUses)).toEqual([]);
  });

  it("the clock is read in model/clock.ts alone", () => {
    expect(product.filter(({ path }) => path !== "src/model/clock.ts").flatMap(clockReadings)).toEqual([]);
  });
});

describe("the bans themselves", () => {
  it.each([
    "let x: any;",
    "function f(x: Map<string, any>) {}",
    "const y = x as any;",
    "export default 1;",
    "const x = 1; export { x as default };",
    "enum A { B }",
  ])("catch %s", (text) => {
    expect(bannedSyntax(planted(text))).toHaveLength(1);
  });

  it("let a word in a comment or a string through", () => {
    expect(bannedSyntax(planted('// any enum\nconst any = "any"; export { any };'))).toEqual([]);
  });

  it.each([
    'import { readFileSync } from "node:fs";',
    'import { readFileSync as read } from "node:fs";',
    'import * as fs from "node:fs"; fs.fsyncSync(1);',
    'import { execFileSync } from "node:child_process";',
  ])("catch what blocks: %s", (text) => {
    expect(blockingCalls(planted(text))).toHaveLength(1);
  });

  it.each([
    "setTimeout(f, 1);",
    "globalThis.setInterval(f, 1);",
    'import { setTimeout as wait } from "node:timers/promises";',
  ])("catch a timer: %s", (text) => {
    expect(timerUses(planted(text))).toHaveLength(1);
  });

  it.each(["const t = Date.now();", "const f = Date.now;", "const d = new Date();"])("catch a clock: %s", (text) => {
    expect(clockReadings(planted(text))).toHaveLength(1);
  });

  it("let a given time through", () => {
    expect(clockReadings(planted("const d = new Date(ms); clock.now();"))).toEqual([]);
  });
});
