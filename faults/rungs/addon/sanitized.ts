// The addon of this checkout once more, under AddressSanitizer and its search for leaks. Node itself is as it is: the sanitizer's library is loaded
// before it, and what Node leaves at its end is not ours. The build lies in .cache/faults/asan; make compiles what changed.

import { execFile } from "node:child_process";
import { cp, mkdir, readdir, stat, symlink } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { promisify } from "node:util";

export interface Sanitizer {
  readonly addon: string;
  readonly environment: Readonly<Record<string, string>>;
}

const run = promisify(execFile);

const COPIED = ["native", "scripts", "package.json", "binding.gyp"];
const FLAGS = "-fsanitize=address -fno-omit-frame-pointer -g1";

/** In a block of a report on leaks: frames of the addon, and of Node itself. */
const OURS = /\bmillrace::|millrace\.node\b/;
const OF_NODE = /\b(v8|node)::|\/node\+0x/;

/**
 * What was asked for by the addon and leaked, one text for each, out of what the sanitizer says at the end. Node frees little at its end: what it, or
 * what it was asked for by Node-API, left there is no word about the addon. So the innermost frame that is of either decides.
 */
export function leaksOf(stderr: string): string[] {
  const blocks = stderr.split(/\n(?=(?:Direct|Indirect) leak of )/).slice(1);
  return blocks.filter((block) => {
    const deciding = block.split("\n").find((line) => OURS.test(line) || OF_NODE.test(line));
    return deciding !== undefined && OURS.test(deciding);
  });
}

/** The build, or why there is none. */
export async function sanitized(root: string): Promise<Sanitizer | string> {
  if (process.platform !== "linux") return "only on Linux is a library loaded before Node";
  const library = await run("g++", ["-print-file-name=libasan.so"]).then(
    ({ stdout }) => stdout.trim(),
    () => "",
  );
  if (!isAbsolute(library)) return "g++ has no AddressSanitizer here";
  const copy = join(root, ".cache/faults/asan");
  await mkdir(copy, { recursive: true });
  for (const name of COPIED) {
    await cp(join(root, name), join(copy, name), { recursive: true, preserveTimestamps: true });
  }
  await symlink(join(root, "node_modules"), join(copy, "node_modules")).catch(ifThere);
  await forgetRemoved(root, copy);
  const gyp = JSON.stringify(join(root, "node_modules/node-gyp/bin/node-gyp.js"));
  const script = `const { compile } = await import("./scripts/lib/addon.mjs"); await compile(process.cwd(), ${gyp});`;
  const env = { ...process.env, CXXFLAGS: FLAGS, LDFLAGS: FLAGS };
  try {
    await run(process.execPath, ["--input-type=module", "-e", script], { cwd: copy, env, maxBuffer: 1 << 26 });
  } catch (error) {
    return `the addon does not build with ${FLAGS}: ${(error as Error).message.slice(0, 300)}`;
  }
  const environment = { LD_PRELOAD: library, ASAN_OPTIONS: "detect_leaks=1:allocator_may_return_null=1" };
  const addon = join(copy, "build/Release/millrace.node");
  // Node has many builds.
  const probe = `require(${JSON.stringify(addon)})`;
  const probed = { ...environment, ASAN_OPTIONS: "detect_leaks=0" };
  const lacks = await run(process.execPath, ["-e", probe], { env: { ...process.env, ...probed } }).then(
    () => undefined,
    (error: Error & { stderr?: string }) =>
      `Node does not run under it: ${(error.stderr ?? error.message).slice(0, 300)}`,
  );
  return lacks ?? { addon, environment };
}

const ifThere = (error: NodeJS.ErrnoException): void => {
  if (error.code !== "EEXIST") throw error;
};

/** A source that is gone would be compiled for ever. */
async function forgetRemoved(root: string, copy: string): Promise<void> {
  for (const folder of ["native/core", "native/wrap"]) {
    for (const name of await readdir(join(copy, folder))) {
      const there = await stat(join(root, folder, name)).catch(() => undefined);
      if (there === undefined) await run("rm", [join(copy, folder, name)]);
    }
  }
}
