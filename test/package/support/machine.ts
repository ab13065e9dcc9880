// A machine of its own for a test (machine.sh), with the package and some files in it.

import { execFile } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject, type TestContext } from "vitest";
import { root } from "../../rules/sources.js";
import { tempDir } from "../../support/tmp.js";

const cannotBeHad = 77;

/** What /stuff/run.sh printed there, or the end of the test as skipped. `files` lie beside it, and so does the package. */
export async function onMachine(
  kind: "run" | "services",
  files: Record<string, string>,
  context: TestContext,
): Promise<string> {
  const stuff = tempDir("machine");
  cpSync(inject("tarball"), join(stuff, "millrace-0.0.0.tgz"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(stuff, name), text);
  const machine = join(root, "test/package/support/machine.sh");
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|VITEST|MILLRACE_)/i.test(name));
  const ended = await new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile("sh", [machine, kind, stuff], { env: Object.fromEntries(kept) }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
  if (ended.code === cannotBeHad) context.skip(ended.stderr.trim());
  if (ended.code !== 0) throw new Error(`the machine ended with ${ended.code}:\n${ended.stdout}${ended.stderr}`);
  if (kind === "run") return ended.stdout;
  const printed = join(stuff, "printed");
  if (!existsSync(printed)) throw new Error(`systemd ran nothing:\n${ended.stdout}${ended.stderr}`);
  return readFileSync(printed, "utf8");
}
