// Which data directory is meant: the one of a broker that was started here with the same settings.

import { resolve as resolvePath } from "node:path";
import { resolve } from "../ops/settings/resolve.js";
import { fromEnvironment, fromFile, fromFlags } from "../ops/settings/sources.js";
import { Failed } from "./failure.js";

/** `--data-dir`, else MILLRACE_DATA_DIR, else data.dir in ./millrace.toml, else its default. */
export function dataDirOf(flag: string | undefined, env: Readonly<Record<string, string | undefined>>): string {
  const flags = fromFlags(flag === undefined ? [] : [`--data-dir=${flag}`]);
  const resolution = resolve([flags, fromEnvironment(env), fromFile(undefined)]);
  if (resolution.problems !== undefined) {
    throw new Failed("the settings that say where the data directory is are wrong", resolution.problems);
  }
  return resolvePath(resolution.resolved.settings["data.dir"]);
}
