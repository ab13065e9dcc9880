// Which code verifies sums in a program: the entries of the package as they are built, in processes of their own, with the addon and
// everywhere it may be missing.

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { buildSync } from "esbuild";
import { expect, it } from "vitest";
import { connect } from "../../src/client/index.js";
import { packageRoot } from "../../src/native/load.js";
import { runBroker } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";

const run = promisify(execFile);
const root = packageRoot();
const entry = (name: string): string => pathToFileURL(join(root, "dist", `${name}.js`)).href;
const inherited = Object.entries(process.env).filter(([name]) => !/^(MILLRACE_|NODE_|VITEST)/.test(name));

/** What a program prints; it has to end by itself, and to say nothing else. */
async function printed(args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = tempDir("verification")) {
  const options = { env: { ...Object.fromEntries(inherited), ...env }, cwd, timeout: 60_000 };
  const { stdout, stderr } = await run(process.execPath, [...args], options);
  expect(stderr).toBe("");
  return stdout.trim();
}

const evaluated = (code: string, env?: NodeJS.ProcessEnv, cwd?: string) =>
  printed(["--input-type=module", "-e", code], env, cwd);

const asks = (from: string): string =>
  `import { verification } from ${JSON.stringify(from)}; console.log(await verification());`;

it.each(["client", "index"])("%s: the addon verifies, unless the environment says otherwise", async (name) => {
  expect(await evaluated(asks(entry(name)))).toBe("native");
  expect(await evaluated(asks(entry(name)), { MILLRACE_VERIFICATION: "javascript" })).toBe("javascript");
});

it.runIf(process.platform === "linux")("importing the client loads no addon; what is first read does", async () => {
  const code = `
    import { readFileSync } from "node:fs";
    const isLoaded = () => readFileSync("/proc/self/maps", "utf8").includes("millrace.node");
    const { verification } = await import(${JSON.stringify(entry("client"))});
    await new Promise((resolve) => setTimeout(resolve, 50));
    console.log(isLoaded());
    await verification();
    console.log(isLoaded());`;
  expect(await evaluated(code)).toBe("false\ntrue");
});

/** The package as installed, without binaries. */
function installedWithout(): string {
  const dir = join(tempDir("installed"), "node_modules/millrace");
  mkdirSync(dir, { recursive: true });
  cpSync(join(root, "dist"), join(dir, "dist"), {
    recursive: true,
    filter: (path) => !/dist\/(types|console)/.test(path),
  });
  cpSync(join(root, "package.json"), join(dir, "package.json"));
  return dir;
}

const builtAddon = (): Buffer => readFileSync(join(root, "build/Release/millrace.node"));
const put = (dir: string, addon: string | Buffer): void => {
  mkdirSync(join(dir, "build/Release"), { recursive: true });
  writeFileSync(join(dir, "build/Release/millrace.node"), addon);
};

it("without an addon that loads, JavaScript verifies and nothing is said", async () => {
  const dir = installedWithout();
  const project = join(dir, "../..");
  expect(await evaluated(asks("millrace/client"), {}, project)).toBe("javascript");
  put(dir, "not a binary");
  expect(await evaluated(asks("millrace/client"), {}, project)).toBe("javascript");
  put(dir, builtAddon());
  expect(await evaluated(asks("millrace/client"), {}, project)).toBe("native");
});

it("another runtime that calls itself Node is not tried with the addon", async () => {
  for (const runtime of ["bun", "deno"]) {
    const pretend = `Object.defineProperty(process, "versions", { value: { ...process.versions, ${runtime}: "1.2.3" } });`;
    const code = `${pretend} const { verification } = await import(${JSON.stringify(entry("client"))}); console.log(await verification());`;
    expect(await evaluated(code)).toBe("javascript");
  }
});

it.each(["esm", "cjs"] as const)("bundled into somebody's program (%s), JavaScript verifies", async (format) => {
  const dir = tempDir("bundled");
  const ask = `import { verification } from ${JSON.stringify(join(root, "dist/client.js"))};
    verification().then((which) => console.log(which));`;
  writeFileSync(join(dir, "program.js"), ask);
  const outfile = join(dir, `out/program.${format === "esm" ? "mjs" : "cjs"}`);
  const options = { bundle: true, platform: "node", format, logLevel: "silent" } as const;
  buildSync({ ...options, entryPoints: [join(dir, "program.js")], outfile });
  expect(readdirSync(join(dir, "out"))).toHaveLength(1);
  expect(await printed([outfile], {}, dir)).toBe("javascript");
});

it.each(["native", "javascript"])(
  "P10 a topic is read from a broker by %s code, in two worker threads at once",
  async (which) => {
    const broker = await runBroker({ "record.format": "crc32c" });
    const client = await connect({ broker: `127.0.0.1:${broker.port}` });
    const records = Array.from({ length: 3000 }, (_, i) => `record ${i} ${"x".repeat(i % 50)}`);
    await client.producer().batch("orders", records);
    await client.close();
    const code = `
    import { once } from "node:events";
    import { Worker, isMainThread, workerData } from "node:worker_threads";
    const { connect, verification } = await import(${JSON.stringify(entry("client"))});
    if (isMainThread) {
      const file = new URL(import.meta.url);
      const workers = [0, 1].map(() => new Worker(file));
      const exits = workers.map((worker) => once(worker, "exit"));
      console.log((await Promise.all(workers.map((worker) => once(worker, "message")))).flat().join(" "));
      console.log((await Promise.all(exits)).flat().join(" "));
    } else {
      const { parentPort } = await import("node:worker_threads");
      const client = await connect({ broker: "127.0.0.1:${broker.port}" });
      let read = 0;
      for await (const batch of client.replay("orders")) for (const record of batch) read += record.length > 0;
      parentPort.postMessage(read + " " + await verification());
      await client.close();
    }`;
    const dir = tempDir("threads");
    writeFileSync(join(dir, "program.mjs"), code);
    const env = which === "javascript" ? { MILLRACE_VERIFICATION: "javascript" } : {};
    expect(await printed([join(dir, "program.mjs")], env, dir)).toBe(`3000 ${which} 3000 ${which}\n0 0`);
  },
);
