// The version of this package, as the ready line, HELLO and --version say it.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../native/load.js";

export async function packageVersion(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageRoot(), "package.json"), "utf8")) as { version: string };
  return version;
}
