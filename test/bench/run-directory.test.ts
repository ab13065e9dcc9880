// Where a run writes: refused in a line where it cannot, gone when the run is, also when a signal ends it.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { UnfitStand } from "../../bench/lib/environment.js";
import { leaveDirectory, takeDirectory } from "../../bench/lib/run-directory.js";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";

const onLinux = process.platform === "linux";

async function refusal(path: string, room?: number): Promise<string> {
  const error = await takeDirectory(path, room).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(UnfitStand);
  const { message } = error as Error;
  expect(message).not.toContain("\n");
  return message;
}

describe("the directory of a run", () => {
  it("is made below the one that was asked for, by its real name, and is gone afterwards", async () => {
    const base = await realpath(tempDir());
    await mkdir(join(base, "real"));
    await symlink(join(base, "real"), join(base, "link"));
    const path = await takeDirectory(relative(process.cwd(), join(base, "link", "a", "b")), 0);
    expect(path.startsWith(join(base, "real", "a", "b", "run-"))).toBe(true);
    expect(await readdir(path)).toEqual(["LOCK"]);
    await leaveDirectory(path);
    expect(await readdir(join(base, "real", "a", "b"))).toEqual([]);
  });

  it.skipIf(!onLinux)("is refused where a parent takes no directories, instead of trying for ever", async () => {
    expect(await refusal("/proc/x/y")).toContain("/proc/x/y cannot be written to: it takes no directories");
    expect(await refusal("/proc", 0)).toBe("/proc cannot be written to: it takes no directories");
  });

  it("is refused where a file lies, or the room is too little", async () => {
    const base = tempDir();
    await writeFile(join(base, "file"), "");
    expect(await refusal(join(base, "file"))).toContain("is no directory");
    expect(await refusal(join(base, "file", "x"))).toContain("is no directory");
    expect(await refusal(base, 2 ** 60)).toMatch(/ has [\d.]+ GiB left: a run needs 1073741824\.0 GiB$/);
  });

  it("is removed again with the parents that were made for it when it is refused, and nothing else is", async () => {
    const base = tempDir();
    await mkdir(join(base, "there"));
    await refusal(join(base, "there", "a", "b"), 2 ** 60);
    expect(await readdir(join(base, "there"))).toEqual([]);
    await refusal(join(base, "there"), 2 ** 60);
    expect(existsSync(join(base, "there"))).toBe(true);
  });

  it.skipIf(!existsSync("/dev/shm"))("leaves nothing in memory, where it is refused", async () => {
    const path = `/dev/shm/millrace-bench-${process.pid}`;
    expect(await refusal(join(path, "x"))).toContain("tmpfs");
    expect(existsSync(path)).toBe(false);
  });

  it("of a run that is gone is removed by the next; those of runs that live, and what is not ours, stay", async () => {
    const base = await realpath(tempDir());
    const living = await takeDirectory(base, 0);
    for (const name of ["run-gone00", "run-nolock", "sample-abc123", "mine"]) await mkdir(join(base, name));
    for (const name of ["run-gone00", "mine"]) await writeFile(join(base, name, "LOCK"), "1");
    const path = await takeDirectory(base, 0);
    const names = (await readdir(base)).map((name) => join(base, name));
    const others = ["mine", "run-nolock", "sample-abc123"].map((name) => join(base, name));
    expect(names.toSorted()).toEqual([living, path, ...others].toSorted());
    await leaveDirectory(living);
    await leaveDirectory(path);
  });
});

const parts = join(root, ".cache", "test", `run-directory-${process.pid}`);
afterAll(() => rm(parts, { recursive: true, force: true }));

/** A bench in the middle of a sample: a server runs and has a file. */
async function benchInSample(base: string): Promise<ChildProcess> {
  const entryPoints = ["run-directory", "signals", "children"].map((name) => join(root, "bench", "lib", `${name}.ts`));
  await build({
    ...{
      entryPoints,
      outdir: parts,
      bundle: true,
      splitting: true,
      platform: "node",
      format: "esm",
      packages: "external",
    },
    outExtension: { ".js": ".mjs" },
  });
  const script = [
    'import { spawn } from "node:child_process";',
    'import { mkdtempSync, writeFileSync } from "node:fs";',
    `import { takeDirectory } from "${parts}/run-directory.mjs";`,
    `import { endBySignals } from "${parts}/signals.mjs";`,
    `import { endsWithUs } from "${parts}/children.mjs";`,
    "endBySignals();",
    `const sample = mkdtempSync(await takeDirectory(${JSON.stringify(join(base, "data"))}, 0) + "/sample-");`,
    'const child = endsWithUs(spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" }));',
    'writeFileSync(sample + "/file", "");',
    `writeFileSync(${JSON.stringify(join(base, "pid"))}, String(child.pid));`,
    'console.log("up");',
  ].join("\n");
  await writeFile(join(base, "bench.mjs"), script);
  const bench = spawn(process.execPath, [join(base, "bench.mjs")], { stdio: ["ignore", "pipe", "inherit"] });
  await once(bench.stdout, "data");
  return bench;
}

const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("a run that a signal ends", () => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    it(`by ${signal} leaves neither server nor directory, and says which signal it was`, async () => {
      const base = tempDir();
      const bench = await benchInSample(base);
      bench.kill(signal);
      const [code] = (await once(bench, "exit")) as [number | null];
      expect(code).toBe(128 + constants.signals[signal]);
      const pid = Number(await readFile(join(base, "pid"), "utf8"));
      for (let look = 0; look < 100 && runs(pid); look++) await sleep(20);
      expect(runs(pid)).toBe(false);
      expect(await readdir(join(base, "data"))).toEqual([]);
    });
  }
});
