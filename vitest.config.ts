// The quick tests: everything in test/ but *.slow.test.ts, which `npm run scenarios` runs (vitest.slow.config.ts), and test/package/
// (vitest.package.config.ts).

import { defineConfig } from "vitest/config";

// biome-ignore lint/style/noDefaultExport: vitest takes its configuration from the default export
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/**/*.slow.test.ts", "test/package/**"],
    // A process for each file: native objects, signals and worker_threads are tested, and one crash must not take the others along.
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
