// docs/troubleshooting.md has every code, number and exit code that there is, and the sentences that it quotes are in the sources.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Exit } from "../../src/cli/failure.js";
import { ERROR_ROWS } from "../../src/model/error-codes.js";
import { ExitCode } from "../../src/ops/serve.js";
import { filesBelow, root } from "../rules/sources.js";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const page = read("docs/troubleshooting.md");
const section = (title: string): string => page.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? "";

it("has every code that a broker answers, with its number", () => {
  const rows = [...section("Codes that a broker answers").matchAll(/^\| (\d+) \| `(\w+)` \| .+ \| .+ \|$/gm)];
  expect(rows.map(([, number, name]) => [Number(number), name])).toEqual(
    ERROR_ROWS.filter(({ name }) => name !== "NONE").map(({ code, name }) => [code, name]),
  );
});

it("has every other code, once", () => {
  const [, union = ""] = /export type LocalErrorCode =([^;]*);/.exec(read("src/model/errors.ts")) ?? [];
  const codes = [...union.matchAll(/"(\w+)"/g)].map(([, code = ""]) => code);
  expect(codes.length).toBeGreaterThan(20);
  const rows = [...section("Codes of the client and the library").matchAll(/^\| `([A-Z_]+)` \| .+ \| .+ \|$/gm)];
  expect(rows.map(([, code = ""]) => code).sort()).toEqual(codes.sort());
});

it("has every exit code of the broker and of the other verbs", () => {
  const [broker = "", verbs = ""] = section("Exit codes").split("Of the other verbs");
  const codes = (text: string): number[] => [...text.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  expect(codes(broker)).toEqual(Object.values(ExitCode).sort());
  expect(codes(verbs)).toEqual(Object.values(Exit).sort());
});

/** What stands in the sources as one text, whatever way it is put together: `a ` + `b` and "a " + "b" are joined. */
const sources = filesBelow("src", [".ts"])
  .map(({ text }) => text)
  .concat(read("docs/settings-refusals.md"))
  .join("\n")
  .replaceAll(/["`] \+\s*["`]/g, "")
  .replaceAll("\\`", "`");

it("quotes sentences that are told", () => {
  const tables = ["Refusals to start", "Partitions that refuse to open"].flatMap((title) =>
    [...section(title).matchAll(/^\| ([^|]+) \|/gm)].map(([, first = ""]) => first),
  );
  const quoted = tables.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, sentence = ""]) => sentence));
  expect(quoted.length).toBeGreaterThan(25);
  for (const sentence of quoted) {
    const pieces = sentence
      .replace(/^KEY/, "")
      .split("…")
      .filter((piece) => /[a-z]{2}/.test(piece));
    for (const piece of pieces) expect([sentence, piece, sources.includes(piece)]).toEqual([sentence, piece, true]);
  }
});
