// The quick tests: everything in test/ but *.slow.test.ts, which `npm run scenarios` runs (vitest.slow.config.ts), and test/package/
// (vitest.package.config.ts) and test/console/browser/ (vitest.console.config.ts).

import { defineConfig } from "vitest/config";

// biome-ignore lint/style/noDefaultExport: vitest takes its configuration from the default export
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/**/*.slow.test.ts", "test/package/**", "test/console/browser/**"],
    // A process for each file: native objects, signals and worker_threads are tested, and one crash must not take the others along.
    pool: "forks",
    maxWorkers: 2,
    // Against tests that never end, not a measure of speed: on a machine with much else to do, honest ones take twenty seconds and more.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
