// An empty project of somebody who installs millrace: its path has a space, and its PATH has Node and a shell and nothing else, no
// compiler and no Python. npm is told nothing by the npm that runs these tests.

import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject, type TestContext } from "vitest";
import { tempDir } from "../../support/tmp.js";
import type { Fetched } from "./make-package.js";

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The path of a program, or the end of the test as skipped. */
export function need(what: Fetched | undefined, { skip }: TestContext): string {
  if (what === undefined) return skip("nobody asked for it");
  return "path" in what ? what.path : skip(what.missing);
}

export class Project {
  readonly dir: string;
  /** Where millrace lands. */
  readonly installed: string;
  private readonly bin: string;

  constructor(readonly node: string = process.execPath) {
    this.dir = join(tempDir("project"), "with a space");
    this.installed = join(this.dir, "node_modules/millrace");
    this.bin = join(this.dir, "../bin");
    mkdirSync(this.dir);
    mkdirSync(this.bin);
    symlinkSync(node, join(this.bin, "node"));
    symlinkSync("/bin/sh", join(this.bin, "sh"));
    writeFileSync(join(this.dir, "package.json"), JSON.stringify({ name: "empty", version: "1.0.0", type: "module" }));
  }

  get env(): NodeJS.ProcessEnv {
    const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|VITEST|MILLRACE_|PATH$)/i.test(name));
    return { ...Object.fromEntries(kept), PATH: this.bin };
  }

  /** Runs a program of Node in the project's directory. */
  run(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return new Promise((resolve) => {
      const options = { cwd: this.dir, env: { ...this.env, ...more }, timeout: 300_000 };
      execFile(this.node, args, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
        resolve({ code, stdout, stderr });
      });
    });
  }

  /** Without a network, so that the package alone must do. */
  npm(npm: string, ...args: readonly string[]): Promise<Ended> {
    return this.run([npm, ...args, "--offline", "--no-audit", "--no-fund", "--foreground-scripts"]);
  }

  install(npm: string, ...args: readonly string[]): Promise<Ended> {
    return this.npm(npm, "install", inject("tarball"), ...args);
  }

  /** The program `millrace` as npm linked it. */
  millrace(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return this.run([join(this.dir, "node_modules/.bin/millrace"), ...args], more);
  }
}

/** A project with millrace in it. */
export async function projectWithMillrace(context: TestContext, node?: string): Promise<Project> {
  const project = new Project(node);
  const { code, stderr } = await project.install(need(inject("npms").here, context), "--ignore-scripts");
  if (code !== 0) throw new Error(`npm install failed:\n${stderr}`);
  return project;
}
