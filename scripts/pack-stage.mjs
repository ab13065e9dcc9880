// What the package has in it, laid out in a directory of its own: the built programs with their types, prebuilt binaries, the native
// sources with the one command that builds them, and what a person reads. A directory and not package.json's `files`: the package's
// package.json differs (no dependencies, since they are bundled; no scripts, which would name files that are not there), and so does
// binding.gyp.

import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { root } from "./lib/run.mjs";
import { filesBelow } from "./lib/stale.mjs";
import { stageNativeSources } from "./pack-sources.mjs";

/** Beside dist/, prebuilds/ and native/. */
const texts = ["README.md", "LICENSE", "CHANGELOG.md"];

/** Fills `dir`, with the prebuilt binaries of `prebuilds` as they are. */
export async function stage(dir, prebuilds) {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), `${JSON.stringify(packageManifest(), undefined, 2)}\n`);
  for (const name of texts) cpSync(join(root, name), join(dir, name));
  for (const file of filesBelow(join(root, "docs"), [".md", ".png", ".svg"])) copyInto(dir, file);
  for (const file of filesBelow(join(root, "examples"), [".md", ".mjs"])) copyInto(dir, file);
  for (const file of filesBelow(join(root, "test/vectors"), [""])) copyInto(dir, file);
  for (const file of filesBelow(join(root, "packaging"), [""], ["build.mjs"])) {
    if (!file.endsWith(".mjs")) copyInto(dir, file);
  }
  stageDist(dir);
  cpSync(prebuilds, join(dir, "prebuilds"), { recursive: true });
  stageNativeSources(join(dir, "native"));
  await bundleBuilder(join(dir, "build.mjs"));
  for (const file of filesBelow(dir, [".md"])) writeFileSync(file, withoutDeadLinks(file));
  writeFileSync(join(dir, "THIRD-PARTY-NOTICES.md"), notices());
}

/** A text whose links lead to what is in the package: of those to sources and tests their words stay. */
function withoutDeadLinks(file) {
  return readFileSync(file, "utf8").replaceAll(
    /(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)/g,
    (link, image, words, to) => {
      if (/^[a-z]+:/.test(to) || existsSync(normalize(join(dirname(file), to)))) return link;
      if (image !== "") throw new Error(`${file} shows ${to}, which is not in the package`);
      return words;
    },
  );
}

/** The fields that concern whoever installs it. */
export function packageManifest() {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const kept = ["name", "version", "description", "keywords", "license", "type", "engines", "os", "bin", "exports"];
  return Object.fromEntries(kept.filter((key) => key in manifest).map((key) => [key, manifest[key]]));
}

function copyInto(dir, file) {
  const to = join(dir, relative(root, file));
  mkdirSync(dirname(to), { recursive: true });
  cpSync(file, to);
}

/** Without source maps, which name sources that the package does not have, and without types that nobody can reach. */
function stageDist(dir) {
  const entries = Object.values(packageManifest().exports).flatMap(({ types = [] }) => types);
  const types = reachableTypes(entries.map((path) => join(root, path)));
  for (const file of filesBelow(join(root, "dist"), [""])) {
    if (file.endsWith(".map") || (file.endsWith(".d.ts") && !types.has(file))) continue;
    copyInto(dir, file);
    const to = join(dir, relative(root, file));
    const text = readFileSync(to, "utf8");
    if (file.endsWith(".d.ts")) writeFileSync(to, forOlderTypeScript(text));
    if (file.endsWith(".js")) writeFileSync(to, text.replace(/^\/\/# sourceMappingURL=.*\n?/m, ""));
  }
  for (const program of Object.values(packageManifest().bin)) chmodSync(join(dir, program), 0o755);
}

/** Before 5.7 typed arrays take no argument; tsc writes one for each whose type it has inferred. */
const forOlderTypeScript = (types) =>
  types.replaceAll(/\b((?:Ui|I)nt(?:8|16|32)|Float64)Array<ArrayBuffer(?:Like)?>/g, "$1Array");

/** The declarations that are imported from `files` on, themselves included. tsc writes them for every source that was compiled. */
function reachableTypes(files, seen = new Set()) {
  for (const file of files) {
    if (seen.has(file)) continue;
    seen.add(file);
    const specifiers = [...readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?"(\.[^"]+)\.js"/g)];
    const imported = specifiers.map(([, path]) => join(dirname(file), `${path}.d.ts`));
    reachableTypes(imported, seen);
  }
  return seen;
}

async function bundleBuilder(outfile) {
  const { build, stop } = await import("esbuild");
  await build({
    absWorkingDir: root,
    entryPoints: ["packaging/build.mjs"],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "silent",
  });
  await stop();
}

/** The packages whose code is in the bundles, by their source maps, and the one whose headers are among the native sources. */
export function bundledPackages(dist = join(root, "dist")) {
  const unmapped = filesBelow(dist, [".js"]).filter((file) => !existsSync(`${file}.map`));
  if (unmapped.length > 0) {
    throw new Error(`${unmapped[0]} was built without a source map, so that nobody knows whose licenses it needs`);
  }
  const sources = filesBelow(dist, [".map"]).flatMap((file) => JSON.parse(readFileSync(file, "utf8")).sources);
  const names = sources.flatMap((source) => /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? []);
  return [...new Set([...names, "node-addon-api"])].sort();
}

/** The licenses of others' code in the package. All of them ask for it. */
export function notices(names = bundledPackages()) {
  const packages = names.map((name) => {
    const dir = join(root, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
    const file = readdirSync(dir).find((each) => /^licen[sc]e(\.|$)/i.test(each));
    return { name, version, license, text: file && readFileSync(join(dir, file), "utf8").trim() };
  });
  const parts = packages.map(({ name, version, license, text }) => {
    // Some name their license and do not bring it.
    const same = packages.find((other) => other.license === license && other.text !== undefined);
    if (text === undefined && same === undefined) throw new Error(`${name} is bundled, but its license is not there`);
    return `## ${name} ${version} (${license})\n\n${text ?? `The text of ${license} stands under ${same.name}.`}\n`;
  });
  return `# Software by others in this package\n\n${parts.join("\n")}`;
}
