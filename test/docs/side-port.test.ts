// docs/side-port.md is true: each path of its table is there and no other one, and its examples answer what stands there.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock, systemTimers } from "../../src/model/clock.js";
import { openOpsPages } from "../../src/ops/ops-pages.js";
import type { OpsSource } from "../../src/ops/ops-source.js";
import { root } from "../rules/sources.js";
import { connectTo, runBroker } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { produce } from "../support/wire.js";

const page = readFileSync(join(root, "docs/side-port.md"), "utf8");
const documented = [...page.matchAll(/^\| `(\/api\/[^`]+)` \|([^|]*)\|/gm)].map(([, path = "", about = ""]) => ({
  path,
  parameters: [...about.matchAll(/`([a-z]+)`(?=:| \||$|;| *$)/g)].map(([, name = ""]) => name),
}));

it("has every path of the API and no other", () => {
  const clocks = { clock: systemClock, timers: systemTimers, now: () => 0 };
  const pages = openOpsPages(clocks as unknown as OpsSource);
  pages.stop();
  const patterns = pages.routes.map(({ pattern }) => pattern).filter((pattern) => /^\/api\/.*[^*]$/.test(pattern));
  const paths = documented.map(({ path }) => path.replace("/TOPIC", "/:topic").replace("/N", "/:partition"));
  expect(paths.filter((path) => path !== "/api/…").sort()).toEqual([...patterns].sort());
});

it("names the parameters that each path takes", async () => {
  const { opsPort } = await runBroker({ "ops.enabled": true, "ops.port": 0 });
  for (const { path, parameters } of documented) {
    if (path === "/api/…") continue;
    const asked = path.replace("TOPIC", "orders").replace("/N", "/0");
    const time = path.endsWith("/offset") ? "time=1&" : "";
    const answer = await fetch(`http://127.0.0.1:${opsPort}${asked}?${time}unknown=1`);
    const { error } = (await answer.json()) as { error: string };
    const takes = parameters.length === 0 ? "none" : parameters.join(", ");
    expect([path, error]).toEqual([path, `unknown: no such parameter here; takes ${takes}`]);
  }
});

it("its examples answer what stands there", async () => {
  const broker = await runBroker({ "ops.enabled": true, "ops.port": 0 });
  const wire = await connectTo(broker);
  await wire.ask(produce([ascii("first"), ascii("second")]));
  const examples = [...page.matchAll(/^\$ curl (?:-N )?'http:\/\/127\.0\.0\.1:4711([^']*)'\n(.*?)\n```/gms)];
  expect(examples).toHaveLength(2);
  for (const [, path = "", prints = ""] of examples) {
    const abort = new AbortController();
    const answer = await fetch(`http://127.0.0.1:${broker.opsPort}${path}`, { signal: abort.signal });
    let text = "";
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.length >= prints.length) break;
    }
    abort.abort();
    expect(text.trimEnd()).toBe(prints);
  }
});
