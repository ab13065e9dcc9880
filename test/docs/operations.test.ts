// docs/operations.md says what to do at each alert of the rules, and what it says of the log and of the unit is so.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Counters } from "../../src/broker/counters.js";
import { root } from "../rules/sources.js";

const read = (page: string): string => readFileSync(join(root, page), "utf8");
const page = read("docs/operations.md");
const rules = read("packaging/prometheus/alerts.yml");
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = ""]) => found);

it("has every alert and no other, in the order of the rules", () => {
  const alerts = all(rules, /- alert: (\w+)/g);
  expect(alerts.length).toBeGreaterThan(10);
  expect(all(page, /^\| `(Millrace\w+)` \| .+ \|$/gm)).toEqual(alerts);
});

it("what a rule asks the growth of is counted from 0 on, or its first time would be no growth", () => {
  const kinds = all(rules, /millrace_storage_events_total\{kind="([a-z.-]+)"\}/g);
  expect(kinds.length).toBeGreaterThan(0);
  const { storageEvents } = new Counters();
  expect(kinds.filter((kind) => storageEvents.get(kind) !== 0)).toEqual([]);
});

it("names only kinds of lines that there are, and all that are errors", () => {
  const kinds = new Map(
    [...read("docs/logs.md").matchAll(/^\| `([a-z.-]+)` \| ([a-z, ]+) \|/gm)].map(([, kind = "", level = ""]) => [
      kind,
      level,
    ]),
  );
  const [, log = ""] = /^## The log\n(.*?)^## /ms.exec(page) ?? [];
  const named = all(log, /`([a-z]+\.[a-z-]+)`/g).filter((name) => !name.endsWith(".md"));
  expect(named.filter((kind) => !kinds.has(kind))).toEqual([]);
  const grave = [...kinds].filter(([, level]) => /^(error|fatal)$/.test(level)).map(([kind]) => kind);
  expect(grave.filter((kind) => !named.includes(kind))).toEqual([]);
});

it("the limits that it gives for the unit are the unit's", () => {
  const unit = read("packaging/millrace.service");
  for (const line of all(page, /`((?:LimitNOFILE|TimeoutStopSec)=\d+)`/g)) expect(unit).toContain(`${line}\n`);
});
