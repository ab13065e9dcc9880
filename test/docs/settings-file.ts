// A file of settings that a page shows: taken as it stands.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { resolve } from "../../src/ops/settings/resolve.js";
import { fromFile } from "../../src/ops/settings/sources.js";
import { tempDir } from "../support/tmp.js";
import type { Block } from "./blocks.js";

export function checkSettings({ page, line, text }: Block): void {
  const file = join(tempDir("settings"), "millrace.toml");
  writeFileSync(file, text);
  expect(resolve([fromFile(file)]).problems, `${page}:${line}`).toBeUndefined();
}
