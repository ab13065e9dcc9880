// Brings a checkout into the state that `npm start` and `npm test` need: packages installed, addon compiled, bundles made; each only
// when it is missing or stale. Plain Node without packages, because it runs before there are any. It writes to stderr alone: stdout
// belongs to what runs after it (the broker's ready line).
//
//   node scripts/setup.mjs            what is missing or stale
//   node scripts/setup.mjs --build    the same, and builds addon and bundles in any case (make still reuses what did not change)

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildBundles, bundleFiles, bundleStamp } from "./build.mjs";
import { addonFile, addonSources, buildAddon } from "./lib/addon.mjs";
import { install, installNeeded } from "./lib/install.mjs";
import { takeLock } from "./lib/lock.mjs";
import { onEnd, root, spent, stopHandlingSignals } from "./lib/run.mjs";
import { factsOf, Stamps } from "./lib/stale.mjs";

const say = (text) => process.stderr.write(`millrace: ${text}\n`);

const stamps = new Stamps(join(root, ".cache/setup.json"));

/** The stamp names the very file that the build left, so that one from elsewhere is built over. */
const addonStamp = (sources = addonSources()) => `${sources} ${factsOf(addonFile)}`;

const addonIsStale = () => factsOf(addonFile) === undefined || !stamps.has("addon", addonStamp());
const bundlesAreStale = () =>
  bundleFiles.some((file) => factsOf(file) === undefined) || !stamps.has("bundles", bundleStamp());

/** Whether nothing is to do; asked without the lock first, so that the usual start costs only this look. */
const isReady = () => installNeeded(root) === undefined && !addonIsStale() && !bundlesAreStale();

export async function setup({ force = false } = {}) {
  if (!force && isReady()) return;
  const letGo = await takeLock(join(root, ".cache/setup.lock"), (pid) =>
    say(`waiting for another set-up in this checkout (pid ${pid})`),
  );
  const forget = onEnd(letGo);
  try {
    stamps.reload();
    await makeReady(force);
  } finally {
    letGo();
    forget();
    stopHandlingSignals();
  }
}

async function makeReady(force) {
  const why = installNeeded(root);
  if (why !== undefined) await step(`installing packages with npm ci (${why})`, install);
  const work = [];
  if (force || addonIsStale()) work.push(step("compiling the native addon (node-gyp)", makeAddon));
  if (force || bundlesAreStale()) work.push(step("bundling src/ into dist/ (esbuild)", makeBundles));
  const failed = (await Promise.allSettled(work)).filter(({ status }) => status === "rejected");
  if (failed.length > 0) throw new AggregateError(failed.map(({ reason }) => reason));
}

async function makeAddon() {
  const sources = addonSources(); // as read now: a file that changes meanwhile makes the addon stale again
  await buildAddon();
  stamps.set("addon", addonStamp(sources));
}

async function makeBundles() {
  const stamp = bundleStamp(); // before it is read, for the same reason
  await buildBundles();
  stamps.set("bundles", stamp);
}

async function step(what, action) {
  const since = performance.now();
  say(`${what} …`);
  await action();
  say(`${what.split(" (")[0]}: done in ${spent(since)}`);
}

/** Set-up for a script of this checkout: prints what went wrong and ends the process with 1. */
export async function setupOrExit(options) {
  const [major] = process.versions.node.split(".");
  if (Number(major) < 20) {
    say(`Node 20 or later is needed; this is ${process.version}`);
    process.exit(1);
  }
  try {
    await setup(options);
  } catch (error) {
    for (const each of error instanceof AggregateError ? error.errors : [error]) say(each.message);
    process.exit(1);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const unknown = process.argv.slice(2).filter((argument) => argument !== "--build");
  if (unknown.length > 0) {
    say(`unknown argument ${unknown[0]}; there is only --build`);
    process.exit(2);
  }
  await setupOrExit({ force: process.argv.includes("--build") });
}
