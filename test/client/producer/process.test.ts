// A program that sends and does not wait: its process stays until every record is settled, and no longer.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../../src/native/load.js";
import { FakeBroker } from "../../support/fake-broker.js";
import { tempDir } from "../../support/tmp.js";
import { texts } from "./backends.js";

const run = promisify(execFile);

/** Runs a program that finds `Connection` and `Producer`, and a backend at this address; what it printed. */
async function program(address: string, body: string): Promise<string> {
  const dir = tempDir("program");
  const source = join(dir, "program.ts");
  const outfile = join(dir, "program.mjs");
  const head = [
    `import { Connection, Producer } from "millrace/client";`,
    `const backend = { address: "${address}", connect: () => Connection.connect({ broker: "${address}" }) };`,
  ];
  writeFileSync(source, [...head, body].join("\n"));
  const face = join(packageRoot(), "src", "client", "index.ts");
  const bundle = { bundle: true, format: "esm", platform: "node", target: "node20" } as const;
  await build({ entryPoints: [source], outfile, alias: { "millrace/client": face }, ...bundle });
  const { stdout } = await run(process.execPath, [outfile], { timeout: 15_000 });
  return stdout;
}

describe("the process of a producer", () => {
  it("P06 stays until what lingers was acknowledged, also when the last line of the program has run", async () => {
    const broker = await FakeBroker.start();
    const stdout = await program(
      broker.address,
      `const producer = new Producer(backend, { lingerMs: 300 });
       void producer.send("orders", "x").then(({ offset }) => {
         console.log("sent", offset);
         producer.destroy();
       });`,
    );
    expect(stdout).toBe("sent 0\n");
    expect(texts(broker)).toEqual(["x"]);
  });

  it("P06 stays until what cannot be sent was given up, and ends then", async () => {
    const broker = await FakeBroker.start();
    broker.stop();
    const stdout = await program(
      broker.address,
      `const producer = new Producer(backend, { deliveryTimeoutMs: 400 });
       producer.send("orders", "x").catch((error) => console.log(error.code, error.cause.code));`,
    );
    expect(stdout).toBe("DELIVERY_TIMEOUT CONNECTION_FAILED\n");
  });
});
