// The tests of the package: packed once, then installed in empty projects as a user would. One file after the other, as some of them
// measure. `npm run package-test`.

import { defineConfig } from "vitest/config";

// biome-ignore lint/style/noDefaultExport: vitest takes its configuration from the default export
export default defineConfig({
  test: {
    include: ["test/package/**/*.test.ts"],
    globalSetup: ["test/package/support/make-package.ts"],
    pool: "forks",
    fileParallelism: false,
    // Two of them compile the addon, which takes minutes on a machine that has much else to do.
    testTimeout: 400_000,
    hookTimeout: 120_000,
  },
});
