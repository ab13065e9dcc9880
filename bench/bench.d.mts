// What TypeScript needs to know of bench.mjs.

/** Bundles the bench; resolves to the directory with main.js and sides/. */
export function bundleBench(): Promise<string>;
/** Bundles script and style of the page of figures; resolves to their directory. */
export function bundlePage(): Promise<string>;
