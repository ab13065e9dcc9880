// What the product says about durability: C5 is also a rule about texts.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/native/load.js";
import { helpText } from "../../src/ops/settings/print.js";

function* textsBelow(path: string): Generator<string> {
  if (!statSync(path).isDirectory()) {
    if (/\.(ts|md|cc|h|mjs)$/.test(path)) yield path;
    return;
  }
  for (const name of readdirSync(path)) yield* textsBelow(join(path, name));
}

describe("C5 texts", () => {
  it("C5 no text of the product calls a write durable that no barrier has forced", () => {
    const root = packageRoot();
    const claims = [
      /\b(the )?(os|kernel|operating system|page cache)\b[^.]{0,40}\b(will|would|eventually|later)\b[^.]{0,20}\bflush/i,
      /\b(mapped|written)\b[^.]{0,30}\b(is|are) durable\b/i,
      /eventually (durable|persisted|written to disk)/i,
      /guarantee[sd]? by the (os|kernel|page cache)/i,
    ];
    const found: string[] = [];
    for (const place of ["src", "native", "docs", "README.md"]) {
      for (const path of textsBelow(join(root, place))) {
        for (const claim of claims) {
          const match = claim.exec(readFileSync(path, "utf8"));
          if (match !== null) found.push(`${path}: ${match[0]}`);
        }
      }
    }
    expect(found).toEqual([]);
  });

  it("C5 the help says what the flush settings promise: nothing to a producer", () => {
    expect(helpText()).toMatch(/bounds the window of loss, promises a\s+producer nothing/);
  });
});
