// The native sources as the package carries them: a directory that compiles by itself. In a checkout binding.gyp stands at the root and
// finds node-addon-api in node_modules; here it stands beside what it compiles, with those headers in a directory of their own. Never at
// the package's root: a binding.gyp there makes `npm ci` and `npm rebuild` run node-gyp, whatever package.json says.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { root } from "./lib/run.mjs";
import { filesBelow } from "./lib/stale.mjs";

const headers = ["napi.h", "napi-inl.h", "napi-inl.deprecated.h", "LICENSE.md"];

export function stageNativeSources(dir) {
  const native = join(root, "native");
  for (const file of filesBelow(native, [".cc", ".h", ".inc"], ["test"])) copy(file, join(dir, relative(native, file)));
  const api = join(root, "node_modules/node-addon-api");
  for (const name of headers) copy(join(api, name), join(dir, "node-addon-api", name));
  writeFileSync(join(dir, "binding.gyp"), bindingBesideItsSources(readFileSync(join(root, "binding.gyp"), "utf8")));
}

/**
 * The root's binding.gyp with paths that begin in native/, and without -Werror: a compiler that we have not met warns of more. Throws when
 * it names something that would not be there.
 */
export function bindingBesideItsSources(text) {
  const here = text
    .replaceAll(', "-Werror"', "")
    .replaceAll("native/", "")
    .replace('"include_dirs": ["native"', '"include_dirs": ["."')
    .replace("<!(node -p \\\"require('node-addon-api').include_dir\\\")", "node-addon-api");
  if (/native|require\('node-addon-api/.test(here) || !here.includes('[".", "node-addon-api"]')) {
    throw new Error(`binding.gyp has a path that scripts/pack-sources.mjs does not know:\n${here}`);
  }
  return here;
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}
