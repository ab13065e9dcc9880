// docs/protocol.md says what the broker speaks, and every error that it can answer.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ERROR_ROWS } from "../../src/model/error-codes.js";
import { ApiKey, SUPPORTED_VERSIONS } from "../../src/protocol/api-keys.js";
import { root } from "../rules/sources.js";

const page = readFileSync(join(root, "docs/protocol.md"), "utf8");

it("names the versions of each message that HELLO announces", () => {
  const names = Object.entries(ApiKey);
  const spoken = SUPPORTED_VERSIONS.map(({ apiKey, minVersion, maxVersion }) => {
    const name = names.find(([, key]) => key === apiKey)?.[0];
    return `${name} v${minVersion}${maxVersion > minVersion ? `–v${maxVersion}` : ""}`;
  });
  expect(page).toContain(`This one: ${spoken.join(", ")}.`);
});

it("lists the error codes as the table in the code does: number, name, and whether to try again", () => {
  const rows = [...page.matchAll(/^\| (\d+) \| `(\w+)` \|.*\| (yes|no)? ?\|$/gm)];
  expect(rows.map(([, code, name, retry]) => [Number(code), name, retry === "yes"])).toEqual(
    ERROR_ROWS.map(({ code, name, retriable }) => [code, name, retriable]),
  );
});
