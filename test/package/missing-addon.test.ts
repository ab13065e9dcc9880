// Where no binary fits: what is said, and that the one command that it gives helps.

import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { onMachine } from "./support/machine.js";
import { type Project, projectWithMillrace } from "./support/project.js";

const serve = ["serve", "--data-dir", "data", "--port", "0", "--ops-enabled", "false"];
const here = `${process.platform}-${process.arch}`;
const builder = (project: Project): string => join(project.installed, "build.mjs");

it("without a prebuilt binary the error names system, libc and ABI, the places, and the command that builds it", async (context) => {
  const project = await projectWithMillrace(context);
  rmSync(join(project.installed, "prebuilds"), { recursive: true });
  const { code, stderr } = await project.millrace(serve);
  expect(code).toBe(1);
  for (const part of [
    here,
    `ABI ${process.versions.modules}`,
    "build/Release",
    `prebuilds/${here}`,
    "no prebuilt ones",
  ]) {
    expect(stderr).toContain(part);
  }
  if (process.platform === "linux") expect(stderr).toMatch(/glibc|musl/);
  expect(stderr).toContain(`Build it with: node ${JSON.stringify(builder(project))}`);
  expect(stderr).not.toMatch(/^\s+at /m);
  const broker = await project.run([join(project.installed, "dist/broker.js"), ...serve.slice(1)]);
  expect(broker.code).toBe(1);
  for (const told of [stderr, broker.stderr]) {
    const [json, sentence, ...more] = told.trimEnd().split("\n");
    expect(JSON.parse(json)).toMatchObject({ kind: "broker.not-started", code: "ADDON_UNAVAILABLE" });
    expect(sentence).toMatch(/^millrace: not started: no compiled addon for /);
    expect(more).toEqual([]);
  }
});

const others: [variables: NodeJS.ProcessEnv, says: string][] = [
  [{ npm_config_arch: "riscv64" }, `no compiled addon for ${process.platform}-riscv64`],
  [{ npm_config_platform: "linux", LIBC: "uclibc" }, "(uclibc, "],
  [{ npm_config_platform: "win32" }, "millrace runs on Linux and macOS; win32-"],
];

it.for(others)("on another system (%j) it says what there is", async ([variables, says], context) => {
  const project = await projectWithMillrace(context);
  const { code, stderr } = await project.millrace(serve, variables);
  expect(code).toBe(1);
  expect(stderr).toContain(says);
});

it("a binary that does not load is told by the system's reason, with the same command", async (context) => {
  const project = await projectWithMillrace(context);
  const dir = join(project.installed, "prebuilds", here);
  for (const name of readdirSync(dir)) writeFileSync(join(dir, name), "not a binary");
  const { code, stderr } = await project.millrace(serve);
  expect(code).toBe(1);
  expect(stderr).toMatch(/does not load on .*: .+\. Build it with: node "/);
});

it("the command without a compiler says what is missing and how it is installed", async (context) => {
  const project = await projectWithMillrace(context);
  const { code, stderr } = await project.run([builder(project)]);
  expect(code).toBe(1);
  expect(stderr).toContain("needs a C++ compiler and make and Python 3");
  expect(existsSync(join(project.installed, "build/Release/millrace.node"))).toBe(false);
});

it("the command without a node-gyp says where one comes from", async (context) => {
  const project = await projectWithMillrace(context);
  const node = join(project.dir, "node");
  cpSync(process.execPath, node); // no npm beside it
  const { code, stderr } = await project.run([
    "-e",
    `
    const { spawnSync } = require("node:child_process");
    const { status, stderr } = spawnSync(${JSON.stringify(node)}, [${JSON.stringify(builder(project))}]);
    process.stderr.write(stderr); process.exit(status);`,
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain("node-gyp is not there");
  expect(stderr).toContain("npm install node-gyp");
});

it("the command builds it from the project's directory, and it is taken", async (context) => {
  const project = await projectWithMillrace(context);
  rmSync(join(project.installed, "prebuilds"), { recursive: true });
  const { PATH } = process.env;
  const built = await project.run(["node_modules/millrace/build.mjs"], { PATH });
  expect(built.code, built.stderr).toBe(0);
  expect(built.stdout).toContain("millrace: built ");
  const loads = 'import { openLog } from "millrace"; console.log(typeof (await openLog("./log")).append);';
  expect(await project.run(["--input-type=module", "-e", loads])).toEqual({
    code: 0,
    stdout: "function\n",
    stderr: "",
  });
});

it("the command of a package that root installed says to others who may run it", async (context) => {
  const run = `set -e
    npm install --global --offline --ignore-scripts /stuff/millrace-*.tgz >/dev/null
    setpriv --reuid 65534 --regid 65534 --clear-groups node "$(npm root --global)/millrace/build.mjs" 2>&1 || echo "ended $?"`;
  const printed = await onMachine("run", { "run.sh": run }, context);
  expect(printed).toContain("cannot be written (EACCES): run this as the user who installed millrace");
  expect(printed).toContain("ended 1");
});
