// Builds mutants: a copy of the sources beside the checkout's packages, in which one edit after the other is made, built and taken back. Objects of
// the addon are copied, too, so that make compiles one file for each mutant.

import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Mutant, mutated } from "./mutant.js";

const run = promisify(execFile);
const COPIED = ["src", "native", "scripts", "package.json", "binding.gyp", "tsconfig.json", "build"];

export class Workshop {
  private constructor(
    private readonly root: string,
    readonly copy: string,
  ) {}

  static async open(root: string, directory: string): Promise<Workshop> {
    const copy = join(directory, "mutant");
    await mkdir(copy, { recursive: true });
    // With their times, or make would compile everything anew.
    for (const name of COPIED) {
      await cp(join(root, name), join(copy, name), { recursive: true, preserveTimestamps: true });
    }
    await symlink(join(root, "node_modules"), join(copy, "node_modules"));
    const workshop = new Workshop(root, copy);
    await workshop.#bundle();
    await workshop.#compile();
    return workshop;
  }

  /** Builds it, hands it over, and takes it back. */
  async with<T>(mutant: Mutant, use: () => Promise<T>): Promise<T> {
    const path = join(this.copy, mutant.file);
    const text = await readFile(path, "utf8");
    await writeFile(path, mutated(text, mutant));
    const build = mutant.file.startsWith("native/") ? this.#compile : this.#bundle;
    try {
      await build.call(this);
      return await use();
    } finally {
      await writeFile(path, text);
      await build.call(this);
    }
  }

  async close(): Promise<void> {
    await rm(this.copy, { recursive: true, force: true });
  }

  #bundle(): Promise<void> {
    return this.#script('const { bundle } = await import("./scripts/build.mjs"); await bundle();');
  }

  #compile(): Promise<void> {
    const gyp = JSON.stringify(join(this.root, "node_modules/node-gyp/bin/node-gyp.js"));
    return this.#script(
      `const { compile } = await import("./scripts/lib/addon.mjs"); await compile(process.cwd(), ${gyp});`,
    );
  }

  async #script(text: string): Promise<void> {
    await run(process.execPath, ["--input-type=module", "-e", text], { cwd: this.copy, maxBuffer: 1 << 26 });
  }
}
