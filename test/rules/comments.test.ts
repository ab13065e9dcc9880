// Comments that must be there.

import { describe, expect, it } from "vitest";
import { missingHead, undocumentedExports } from "./comment-rules.js";
import { filesBelow } from "./sources.js";

describe("comments", () => {
  it("every source file begins with what it is for", () => {
    const files = [
      ...["src", "test", "bench", "faults"].flatMap((dir) => filesBelow(dir, [".ts"])),
      ...filesBelow("console/src", [".ts", ".tsx"]),
      ...filesBelow("native", [".cc", ".h", ".inc"]),
      ...filesBelow("bench", [".h"]),
      ...filesBelow("faults", [".c", ".cc", ".h"]),
      ...["scripts", "packaging", "faults", "test/package/job"].flatMap((dir) => filesBelow(dir, [".mjs"])),
    ];
    expect(files.flatMap(missingHead)).toEqual([]);
  });

  it("every limit has its reason", () => {
    expect(filesBelow("src/model", ["limits.ts"]).flatMap(undocumentedExports)).toEqual([]);
  });
});

describe("the rules about comments themselves", () => {
  it("catch a file without a head", () => {
    expect(missingHead({ path: "a.ts", text: 'import "b";\n// late\n' })).toHaveLength(1);
    expect(missingHead({ path: "a.ts", text: "//\nimport 1;\n" })).toHaveLength(1);
    expect(missingHead({ path: "a.ts", text: "// What it is for.\n" })).toEqual([]);
    expect(missingHead({ path: "a.ts", text: "#!/usr/bin/env node\n// What it is for.\n" })).toEqual([]);
  });

  it("catch a limit without a reason", () => {
    const text = "/** Why. */\nexport const A = 1;\nexport const B = 2;\n// not enough\nexport const C = 3;\n";
    expect(undocumentedExports({ path: "a.ts", text })).toHaveLength(2);
  });
});
