// A reporter of vitest that counts for scripts/check.mjs: what passed, what failed, what was skipped and why. Files that do not load and
// errors that belong to no test count as failures too. Written to the file that MILLRACE_COUNTS names.

import { writeFileSync } from "node:fs";

// biome-ignore lint/style/noDefaultExport: vitest takes reporters from the default export
export default class CountsReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: [] };
    for (const module of modules) {
      if (module.state() === "failed" && module.errors().length > 0) counts.failed += 1;
      for (const test of module.children.allTests()) count(counts, test);
    }
    writeFileSync(process.env.MILLRACE_COUNTS, JSON.stringify(counts));
  }
}

function count(counts, test) {
  const { state, note } = test.result();
  if (state === "passed") counts.passed += 1;
  else if (state === "skipped") counts.skipped.push({ name: test.fullName, why: note ?? "no reason given" });
  else counts.failed += 1;
}
