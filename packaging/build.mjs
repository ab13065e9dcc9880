// Compiles the addon of an installed millrace, where no prebuilt binary fits: `node node_modules/millrace/build.mjs` from the project's
// directory, or by its whole path from anywhere. Bundled into the package by scripts/pack.mjs; a checkout has `npm run build`. Nothing
// is downloaded: it takes the headers of the Node that runs it and the node-gyp that comes with npm.

import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "../scripts/lib/addon.mjs";
import { onEnd, run, spent } from "../scripts/lib/run.mjs";

const root = dirname(fileURLToPath(import.meta.url));
const target = join(root, "build/Release/millrace.node");

async function main(args) {
  if (args.length > 0) {
    console.log(
      `usage: node ${JSON.stringify(join(root, "build.mjs"))}\nCompiles the native addon of millrace into ${target}.`,
    );
    return args[0] === "--help" ? 0 : 2;
  }
  // Before anything else: a package that root installed cannot be written to by everybody, and compiling takes half a minute.
  mkdirSync(dirname(target), { recursive: true });
  const since = performance.now();
  const gyp = await nodeGyp();
  console.log(`millrace: compiling the native addon with ${gyp} …`);
  // Elsewhere than in the package: make does not work in a directory with a space in its path.
  const dir = mkdtempSync(join(tmpdir(), "millrace-build-"));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  onEnd(remove);
  try {
    cpSync(join(root, "native"), dir, { recursive: true });
    await compile(dir, gyp);
    cpSync(join(dir, "build/Release/millrace.node"), target);
  } finally {
    remove();
  }
  const { code, output } = await run(process.execPath, ["-p", `typeof require(${JSON.stringify(target)})`], {
    cwd: root,
  });
  if (code !== 0) throw new Error(`what was built does not load:\n${output}`);
  console.log(`millrace: built ${target} in ${spent(since)}`);
  return 0;
}

/** The node-gyp of this project, of the npm that runs us, of the npm beside this Node, or of the npm on the PATH. */
async function nodeGyp() {
  const bin = "node-gyp/bin/node-gyp.js";
  const npm = process.env.npm_execpath;
  const places = [
    ...(createRequire(join(process.cwd(), "package.json")).resolve.paths("node-gyp") ?? []),
    ...(npm === undefined ? [] : [join(dirname(dirname(npm)), "node_modules")]),
    join(dirname(dirname(process.execPath)), "lib/node_modules/npm/node_modules"),
    "/usr/share/nodejs", // Debian's and Ubuntu's own
  ];
  const near = places.map((dir) => join(dir, bin)).find((file) => existsSync(file));
  if (near !== undefined) return near;
  const { code, output } = await run("npm", ["root", "--global"], { cwd: root });
  const ofNpm = code === 0 ? join(output.trim().split("\n").at(-1) ?? "", "npm/node_modules", bin) : "";
  if (ofNpm !== "" && existsSync(ofNpm)) return ofNpm;
  throw new Error(
    `node-gyp is not there: no npm beside ${process.execPath}, none on the PATH. It comes with npm; or: npm install node-gyp`,
  );
}

/** A failure to write or to compile is told in a sentence; only what nobody expected has a stack. */
function explain(error) {
  if (error.code === "EACCES" || error.code === "EPERM" || error.code === "EROFS") {
    return `${dirname(target)} cannot be written (${error.code}): run this as the user who installed millrace`;
  }
  return error.message;
}

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  console.error(`millrace: ${explain(error)}`);
  return 1;
});
