// The README and docs/settings.md have their table from the schema. `npx vitest run test/ops/settings-page.test.ts -u` writes it anew.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packageRoot } from "../../src/native/load.js";
import { markdownTable } from "../../src/ops/settings/print.js";

it.each(["README.md", "docs/settings.md"])(
  "the table of the settings in %s says what the schema says",
  async (name) => {
    const path = join(packageRoot(), name);
    const page = readFileSync(path, "utf8");
    const parts = /^([\s\S]*<!-- table[^\n]*-->\n)[\s\S]*(<!-- end -->\n[\s\S]*)$/.exec(page);
    if (parts === null) throw new Error(`${path} has no place for the table`);
    await expect(`${parts[1]}\n${markdownTable()}\n${parts[2]}`).toMatchFileSnapshot(path);
  },
);
