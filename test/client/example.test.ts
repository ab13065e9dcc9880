// The example at the top of the client's public face does what it says.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { describe, expect, it, vi } from "vitest";
import { packageRoot } from "../../src/native/load.js";
import { runBroker } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";

const face = join(packageRoot(), "src", "client", "index.ts");

/** The code between the fences of the file's head, without the comment's stars. */
function example(): string {
  const [, code] = /```ts\n([\s\S]*?)```/.exec(readFileSync(face, "utf8")) ?? [];
  return code.replaceAll(/^ \* ?/gm, "");
}

describe("the client's example", () => {
  it("runs against a broker and prints what it produced", async () => {
    const { port } = await runBroker();
    expect(example()).toContain("127.0.0.1:4710");
    const dir = tempDir("example");
    const source = join(dir, "example.ts");
    const program = join(dir, "example.mjs");
    writeFileSync(source, example().replace("127.0.0.1:4710", `127.0.0.1:${port}`));
    const bundle = { bundle: true, format: "esm", platform: "node", target: "node20" } as const;
    await build({ entryPoints: [source], outfile: program, alias: { "millrace/client": face }, ...bundle });
    const printed = vi.spyOn(console, "log").mockImplementation(() => undefined);
    await import(pathToFileURL(program).href);
    expect(printed.mock.calls).toEqual([["first"], ["second"]]);
    printed.mockRestore();
  });
});
