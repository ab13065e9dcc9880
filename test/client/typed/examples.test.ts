// The examples of codecs and typed topics run, and print what they say.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { expect, it, onTestFinished, vi } from "vitest";
import { packageRoot } from "../../../src/native/load.js";
import { startBroker } from "../../../src/ops/start-broker.js";
import { tempDir } from "../../support/tmp.js";

const sources = join(packageRoot(), "src", "client");

it.each([
  ["client.ts", [[0, 3]]],
  ["codec/plain-codecs.ts", [[3]]],
  ["codec/envelope.ts", [[3, "fruit", "4711"]]],
  ["typed/typed-topic.ts", [["a1", 3], ["skipped orders-1 1"]]],
])("the example of %s", async (path, lines) => {
  const fences = [...readFileSync(join(sources, path), "utf8").matchAll(/^ *\* ```ts\n([\s\S]*?)^ *\* ```/gm)];
  const codes = fences
    .map(([, code = ""]) => code.replaceAll(/^ *\* ?/gm, ""))
    .filter((code) => code.includes("codec"));
  expect(codes).toHaveLength(1);
  await using broker = await startBroker({ ephemeral: true, settings: { topics: "orders:3" } });
  const dir = tempDir("example");
  const prelude = `import { connect } from "millrace/client"; const client = await connect({ broker: "${broker.address}" });\n`;
  writeFileSync(join(dir, "example.ts"), `${prelude}${codes[0]}\nawait client.close();\n`);
  await build({
    entryPoints: [join(dir, "example.ts")],
    outfile: join(dir, "example.mjs"),
    alias: { "millrace/client": join(sources, "index.ts") },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
  });
  const printed = vi.spyOn(console, "log").mockImplementation(() => undefined);
  onTestFinished(() => printed.mockRestore());
  await import(pathToFileURL(join(dir, "example.mjs")).href);
  expect(printed.mock.calls).toEqual(lines);
});
