// The console in headless Chromium: `npm run console-test`. One file after the other, as browsers need a core. Apart from `npm test`,
// which needs no browser.

import { defineConfig } from "vitest/config";

// biome-ignore lint/style/noDefaultExport: vitest takes its configuration from the default export
export default defineConfig({
  test: {
    include: ["test/console/browser/**/*.test.ts"],
    pool: "forks",
    fileParallelism: false,
    testTimeout: 90_000,
    // A second, which is the default, is short for a browser beside a whole check.
    expect: { poll: { timeout: 15_000 } },
    hookTimeout: 90_000,
  },
});
