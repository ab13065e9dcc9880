// Installing: by npm install, npm ci and npm rebuild, of the npm that is here and of npm 10, without a network, a compiler and Python.
// With a binding.gyp at its root npm ci and npm rebuild would compile.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { root } from "../rules/sources.js";
import { need, Project } from "./support/project.js";

const loads = `import { openLog } from "millrace";
  const log = await openLog("./data"); console.log(await log.append(new Uint8Array(3))); await log.close();`;

describe.each(["here", "10"])("the npm of %s", (which) => {
  it("installs, ci installs, rebuild leaves alone, and each time it loads", async (context) => {
    const npm = need(inject("npms")[which], context);
    const project = new Project();
    const steps = [
      () => project.install(npm),
      () => project.npm(npm, "ci"),
      () => project.npm(npm, "rebuild"),
      () => project.npm(npm, "ci", "--ignore-scripts"),
    ];
    for (const step of steps) {
      const { code, stdout, stderr } = await step();
      expect(code, stderr).toBe(0);
      expect(stdout + stderr).not.toMatch(/gyp|allow-scripts/);
      expect(existsSync(join(project.installed, "build"))).toBe(false);
      rmSync(join(project.dir, "data"), { recursive: true, force: true });
      expect(await project.run(["--input-type=module", "-e", loads])).toEqual({ code: 0, stdout: "0\n", stderr: "" });
    }
  });

  it("installs it as a command of the system", async (context) => {
    const npm = need(inject("npms")[which], context);
    const project = new Project();
    const { code, stderr } = await project.install(npm, "--global", "--prefix", project.dir);
    expect(code, stderr).toBe(0);
    const { stdout } = await project.run([join(project.dir, "bin/millrace"), "--help"]);
    expect(stdout).toContain("serve");
  });
});

it("the first commands of the documents install it and start a broker", async (context) => {
  const npm = need(inject("npms").here, context);
  const docs = readFileSync(join(root, "docs/installing.md"), "utf8");
  const lines = /```sh\n(.*?)```/s.exec(docs)?.[1]?.replaceAll(/ +#.*/g, "").trim().split("\n") ?? [];
  expect(lines).toEqual(["npm install millrace", "npx millrace serve"]);
  const project = new Project();
  expect((await project.install(npm)).code).toBe(0);
  const npx = join(npm, "../npx-cli.js");
  const serve = [npx, "--offline", "millrace", "serve", "--port", "0", "--ops-port", "0"];
  const broker = spawn(project.node, serve, {
    cwd: project.dir,
    env: project.env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise((resolve) => broker.once("exit", resolve));
  const ready = await new Promise<string>((resolve) => broker.stdout.setEncoding("utf8").once("data", resolve));
  const pid = Number(/ pid=(\d+) /.exec(ready)?.[1]);
  expect(ready).toMatch(/^millrace ready host=127\.0\.0\.1 /);
  process.kill(pid, "SIGTERM");
  await ended;
  expect(existsSync(join(project.dir, "millrace-data/default-0"))).toBe(true);
});
