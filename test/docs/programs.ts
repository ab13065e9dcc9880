// A program that a page shows, run on what the package exports. What a line prints stands behind it: `console.log(x); // prints: 3`.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import { root } from "../rules/sources.js";
import { runBroker } from "../support/broker.js";
import type { Block } from "./blocks.js";

const PRINTS = /\/\/ prints: (.*)$/gm;

export async function runProgram({ page, line, text }: Block): Promise<void> {
  const where = `${page}:${line}`;
  const { address } = await runBroker({ topics: "orders:1,payments:1" });
  // Inside of the package, so that it finds "millrace/client" as a program with millrace installed does.
  const dir = mkdtempSync(join(root, ".cache/program-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  expect(text, where).toContain('"127.0.0.1:4710"');
  const program = text.replaceAll("127.0.0.1:4710", address);
  writeFileSync(join(dir, "program.mjs"), program);
  const { stdout } = await promisify(execFile)(process.execPath, [join(dir, "program.mjs")], { cwd: dir });
  const prints = [...text.matchAll(PRINTS)].map(([, written = ""]) => written);
  expect(prints.length, `${where} says what it prints`).toBeGreaterThan(0);
  expect(stdout.trimEnd().split("\n"), where).toEqual(prints);
}
