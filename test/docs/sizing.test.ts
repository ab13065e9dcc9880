// docs/sizing.md, and the other pages that name bounds: each is a bound of src/model/limits.ts or a setting, with the value that it has.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as limits from "../../src/model/limits.js";
import { root } from "../rules/sources.js";

const read = (page: string): string => readFileSync(join(root, page), "utf8");
const page = read("docs/sizing.md");
const bounds = new Map<string, number>(Object.entries(limits));
const defaults = new Map(
  [...read("docs/settings.md").matchAll(/^\| `([a-z.]+)`(?: \*)? \| `([^`]+)` \|/gm)].map(
    ([, key = "", value = ""]) => [key, value],
  ),
);
const UNITS: Readonly<Record<string, number>> = { "": 1, ms: 1, s: 1000, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** "64 MiB", "10 000", "2000 ms". */
function amount(text: string): number {
  const [, digits = "", unit = "?"] = /^([\d ]+?) ?(KiB|MiB|GiB|ms|s|)$/.exec(text) ?? [];
  return Number(digits.replaceAll(" ", "")) * (UNITS[unit] ?? Number.NaN);
}

const CAPITALS = "[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+";

it("its tables give bounds and defaults the values that they have", () => {
  const rows = [...page.matchAll(/^\| `([A-Z_]+|[a-z.]+)` \| ([\d ]+(?: [KMG]iB)?) \|/gm)];
  expect(rows.length).toBeGreaterThan(30);
  for (const [, name = "", value = ""] of rows) {
    const real = bounds.get(name) ?? amount((defaults.get(name) ?? "?").replace(/(?=[KMG]iB)/, " "));
    expect([name, amount(value)]).toEqual([name, real]);
  }
});

it("so do sentences, on every page that someone maintains", () => {
  const pages = readdirSync(join(root, "docs")).filter((name) =>
    /^(operations|promises|sizing|troubleshooting|architecture)\.md$/.test(name),
  );
  let seen = 0;
  for (const name of pages) {
    for (const [, bound = "", value = ""] of read(`docs/${name}`).matchAll(
      new RegExp(`\`(${CAPITALS})\` \\(([\\d ]+(?: (?:[KMG]iB|ms|s))?)\\)`, "g"),
    )) {
      expect([name, bound, amount(value)]).toEqual([name, bound, bounds.get(bound)]);
      seen++;
    }
  }
  expect(seen).toBeGreaterThan(8);
});

it("what bounds the memory of a broker or a client is on the page", () => {
  const told = new Set([...page.matchAll(new RegExp(`\`(${CAPITALS})\``, "g"))].map(([, name = ""]) => name));
  expect([...told].filter((name) => !bounds.has(name) && name !== "FILE_CHANNEL")).toEqual([]);
  for (const key of ["queued.bytes.max", "connection.queued.bytes.max", "index.cache.bytes", "populate.ahead.max"]) {
    expect(page).toContain(`| \`${key}\` |`);
  }
});
