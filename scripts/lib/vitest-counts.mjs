// A reporter of vitest that counts for scripts/check.mjs: what passed, what failed, what was skipped and why. Files that do not load and
// errors that belong to no test count as failures too. Written to the file that CHECK_COUNTS names; until the end it says there what is
// running, so that a test that hangs has a name. (The name of the variable does not begin with MILLRACE_: a broker would refuse it.)

import { writeFileSync } from "node:fs";
import { relative } from "node:path";

// biome-ignore lint/style/noDefaultExport: vitest takes reporters from the default export
export default class CountsReporter {
  #running = new Map();

  onTestModuleStart(module) {
    this.#note(module, relative(process.cwd(), module.moduleId));
  }

  onTestCaseReady(test) {
    this.#note(test.module, `${relative(process.cwd(), test.module.moduleId)} > ${test.fullName}`);
  }

  onTestModuleEnd(module) {
    this.#note(module, undefined);
  }

  #note(module, what) {
    if (what === undefined) this.#running.delete(module.id);
    else this.#running.set(module.id, what);
    write({ running: [...this.#running.values()] });
  }

  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: [] };
    for (const module of modules) {
      if (module.state() === "failed" && module.errors().length > 0) counts.failed += 1;
      for (const test of module.children.allTests()) count(counts, test);
    }
    write(counts);
  }
}

const write = (what) => writeFileSync(process.env.CHECK_COUNTS, JSON.stringify(what));

function count(counts, test) {
  const { state, note } = test.result();
  if (state === "passed") counts.passed += 1;
  else if (state === "skipped") counts.skipped.push({ name: test.fullName, why: note ?? "no reason given" });
  else counts.failed += 1;
}
