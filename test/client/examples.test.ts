// The examples in the comments of the client's public face run, and print what they say.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Connection } from "../../src/client/connection.js";
import { recordRegion } from "../../src/client/record-region.js";
import { packageRoot } from "../../src/native/load.js";
import { runBroker } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";

const sources = join(packageRoot(), "src", "client");

/** The code of each example of a file, without the comment's stars. */
function examplesOf(path: string): string[] {
  const fences = readFileSync(join(sources, path), "utf8").matchAll(/^ *\* ```ts\n([\s\S]*?)^ *\* ```/gm);
  const codes = [...fences].map(([, code]) => (code as string).replaceAll(/^ *\* ?/gm, ""));
  // Typed topics need records of their codec.
  return codes.filter((code) => !code.includes("codec"));
}

/** What an example finds there unless it says it itself. */
const FOUND = `
  import * as millrace from "millrace/client";
  const client = await millrace.connect({ broker: "127.0.0.1:4710" });
  const store = millrace.memoryCheckpoints();
  const signal = AbortSignal.timeout(1500);
`;

/** What each prints, in the order of the files; of `orders` with "first" and "second" in it, and a third that comes later. */
const EXPECTED: Readonly<Record<string, readonly unknown[][]>> = {
  "connect.ts": [
    [
      ["clicks", 1],
      ["orders", 1],
    ],
  ],
  "client.ts": [[["third"]], [[11]], [[1, 1, 0]], [[0, 0]]],
  "checkpoint/file.ts": [[["first"], ["second"]]],
  "checkpoint/memory.ts": [[[1]]],
  "producer/producer.ts": [[[0, 2], [2]], [[2]], [[2]], [[3], ["OFFSET_MISMATCH", 3]], []],
  "record-batch.ts": [[[1]], [[11]]],
  "subscription/checkpointed.ts": [[["deliver first"], ["deliver second"]]],
  "subscription/subscription.ts": [[["orders-0 0: first"], ["orders-0 1: second"]]],
};

describe.each(Object.entries(EXPECTED))("the examples of %s", (path, expected) => {
  it("are these", () => {
    expect(examplesOf(path)).toHaveLength(expected.length);
  });

  it.each(expected.map((printed, i) => [i, printed] as const))("%i runs against a broker", async (i, expectedLines) => {
    const { port } = await runBroker({ topics: "orders:1,clicks:1" });
    const connection = await Connection.connect({ broker: `127.0.0.1:${port}` });
    onTestFinished(() => connection.destroy());
    await connection.produce("orders", 0, recordRegion(["first", "second"]));
    const example = examplesOf(path)[i] as string;
    const makesClient = /\bclient = /.test(example);
    const makesStore = /\bstore = /.test(example);
    const found = FOUND.split("\n").filter(
      (line) => !(makesClient && /const client/.test(line)) && !(makesStore && /const store/.test(line)),
    );
    const dir = tempDir("example");
    const program = join(dir, "example.mjs");
    const closing = makesClient ? "" : "finally { await client.close(); }";
    const later = /\bsignal\b/.test(example)
      ? `setTimeout(() => void client.producer().send("orders", "third"), 500);`
      : "";
    const lines = example.split("\n");
    const imports = lines.filter((line) => line.startsWith("import"));
    const rest = lines.filter((line) => !line.startsWith("import"));
    const caught = `catch (error) { if (error.name !== "TimeoutError") throw error; }`;
    const body = [...found, ...imports, "try {", later, ...rest, "}", caught, closing].join("\n");
    writeFileSync(join(dir, "example.ts"), body.replaceAll("127.0.0.1:4710", `127.0.0.1:${port}`));
    const bundle = { bundle: true, format: "esm", platform: "node", target: "node20" } as const;
    const face = join(sources, "index.ts");
    await build({
      entryPoints: [join(dir, "example.ts")],
      outfile: program,
      alias: { "millrace/client": face },
      ...bundle,
    });
    const printed = vi.spyOn(console, "log").mockImplementation(() => undefined);
    onTestFinished(() => printed.mockRestore());
    const cwd = process.cwd();
    process.chdir(dir);
    try {
      await import(pathToFileURL(program).href);
    } finally {
      process.chdir(cwd);
    }
    expect(printed.mock.calls).toEqual(expectedLines);
  });
});
