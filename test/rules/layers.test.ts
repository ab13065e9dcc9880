// Who may know whom: src/ layer by layer, native/core without Node.

import { describe, expect, it } from "vitest";
import { coreIncludeViolations, layers, layerViolations } from "./layer-rules.js";
import { filesBelow } from "./sources.js";

const violations = (path: string, text: string) => layerViolations({ path, text });

describe("layers", () => {
  it("imports point only downwards, and client, storage and server keep their own limits", () => {
    expect(filesBelow("src", [".ts"]).flatMap(layerViolations)).toEqual([]);
  });

  it("native/core includes no header of Node and nothing of native/wrap", () => {
    expect(filesBelow("native/core", [".cc", ".h", ".inc"]).flatMap(coreIncludeViolations)).toEqual([]);
  });
});

describe("the layer rule itself", () => {
  it.each([
    ["an import upwards", "src/storage/a.ts", 'import { x } from "../log/b.js";'],
    ["a type import upwards", "src/model/a.ts", 'import type { X } from "../storage/b.js";'],
    ["an export from above", "src/native/a.ts", 'export * from "../broker/b.js";'],
    ["an import() upwards", "src/log/a.ts", 'const b = await import("../server/b.js");'],
    ["an import type expression upwards", "src/log/a.ts", 'let b: import("../server/b.js").B;'],
    ["an import of an entry", "src/log/a.ts", 'import { main } from "../main.js";'],
    ["the client that imports the log", "src/client/a.ts", 'import { x } from "../native/b.js";'],
    ["the client with a package", "src/client/a.ts", 'import pino from "pino";'],
    ["storage that sees the protocol", "src/storage/a.ts", 'import { x } from "../protocol/frame.js";'],
    ["a server that touches files", "src/server/a.ts", 'import { open } from "node:fs/promises";'],
    ["a builtin without node:", "src/broker/a.ts", 'import { join } from "path";'],
    ["a folder that is no layer", "src/util/a.ts", "export const x = 1;"],
    ["an import out of src/", "src/model/a.ts", 'import { x } from "../../test/support/tmp.js";'],
  ])("catches %s", (_, path, text) => {
    expect(violations(path, text)).toHaveLength(1);
  });

  it("lets what points down through", () => {
    const text = 'import { a } from "../model/ids.js"; import { b } from "./b.js"; import { join } from "node:path";';
    for (const layer of layers.slice(1)) expect(violations(`src/${layer}/a.ts`, text)).toEqual([]);
    expect(violations("src/index.ts", 'export { openLog } from "./log/open-log.js";')).toEqual([]);
  });

  it.each(["<node_api.h>", "<napi.h>", "<uv.h>", "<uv/unix.h>", '"wrap/env.h"', "<v8.h>"])(
    "catches core including %s",
    (header) => {
      expect(coreIncludeViolations({ path: "native/core/a.cc", text: `// a\n#include ${header}\n` })).toHaveLength(1);
      expect(coreIncludeViolations({ path: "native/wrap/a.cc", text: `#include ${header}\n` })).toEqual([]);
    },
  );

  it("lets core include itself and the system", () => {
    expect(
      coreIncludeViolations({ path: "native/core/a.cc", text: '#include "core/fd.h"\n#include <sys/uio.h>\n' }),
    ).toEqual([]);
  });
});
