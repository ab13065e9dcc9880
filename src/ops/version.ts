// The version of this package, as the ready line, HELLO and --version say it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../native/load.js";

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as { version: string };
  return version;
}
