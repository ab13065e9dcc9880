// Bundles programs of this project that are no part of the product: bench/ and faults/. They share chunks and import packages from node_modules.

import { root } from "./run.mjs";

/** `entryPoints` below `outbase` end up below `outdir` as they lie there. */
export async function bundlePrograms(entryPoints, outbase, outdir) {
  const esbuild = await import("esbuild");
  await esbuild.build({
    absWorkingDir: root,
    entryPoints,
    outdir,
    outbase,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    sourcemap: "inline",
    logLevel: "warning",
  });
  await esbuild.stop();
  return outdir;
}
