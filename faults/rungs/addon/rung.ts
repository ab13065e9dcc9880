// Rung 10: the addon by itself, called as nobody should.

import { productOf } from "../../lib/product.js";
import { type Failure, type Rung, type RungResult, replayOf, type Skipped, type Stage } from "../../lib/rung.js";
import { PROGRAMS, type Program, type Ran, runProgram } from "./child.js";
import { type Sanitizer, sanitized } from "./sanitized.js";

/** For continuous integration: of each program, without the sanitizers and then with them. */
const SECONDS = 70;

const about = `
The native objects without the broker around them, in processes of their own that may crash. Three programs play with them, each first as the addon is and then as it is when
it is compiled with AddressSanitizer, which also looks for leaks in what the addon asked memory for:

- *states*: each method of each object (segment writer on both paths, file, selector, lock) while it is open, busy, ending, ended and closed; objects that are dropped with barriers, seals, reservations and scans
  under way while the collector runs. A method works, or throws the error that is documented;
- *calls*: everything that is exported is called with values of all types, in every state, with the wrong \`this\`, with getters that throw, detach arrays, end objects or call the addon again while it reads its
  arguments. One argument of a wrong type is a TypeError. No promise is forgotten; in between and in the end records that are written are there;
- *workers*: worker_threads come and go, most are terminated in the middle of barriers, reads, scans, reservations and turns of a selector with connections, while the main thread appends and forces.

Nothing crashes, and descriptors, threads and memory come back. The threads of the core run under ThreadSanitizer in \`npm test\`.
`.trim();

export const addon: Rung = {
  name: "addon",
  title: "native objects in every state, wrong arguments, threads that come and go",
  headline: ["states of methods", "objects collected", "workers that were terminated"],
  proves: "states of methods",
  about,
  unfit: async () => (process.platform === "linux" ? undefined : "it counts descriptors and threads in /proc"),
  run,
};

async function run(stage: Stage): Promise<RungResult> {
  const seconds = stage.seconds ?? (stage.rounds ?? 1) * SECONDS;
  const skipped: Skipped[] = [];
  const sanitizer = await sanitizerFor(stage);
  if (typeof sanitizer === "string")
    skipped.push({ what: "AddressSanitizer and its search for leaks", why: sanitizer });
  const usable = typeof sanitizer === "string" ? [undefined] : [undefined, sanitizer];
  const counts: Record<string, number> = {};
  const failures: Failure[] = [];
  for (const under of usable) {
    for (const program of PROGRAMS) {
      const ran = await runProgram(stage, program, Math.max(2, seconds / PROGRAMS.length / usable.length), under);
      for (const what of said(program, ran, under)) failures.push({ what, replay: replayOf("addon", stage) });
      if ("crashed" in ran) continue;
      for (const [what, count] of Object.entries(ran.counts)) counts[what] = (counts[what] ?? 0) + count;
      stage.progress(
        `${program}${under === undefined ? "" : ", sanitized"}: ${Object.values(ran.counts).reduce((a, b) => a + b, 0)} things done`,
      );
    }
  }
  return { counts, losses: 0, failures, skipped };
}

/** Of another build than this checkout's nobody knows the sources. */
async function sanitizerFor({ root, product }: Stage): Promise<Sanitizer | string> {
  return product.addon === productOf(root).addon ? sanitized(root) : "what is under test was built elsewhere";
}

function said(program: Program, ran: Ran, under: Sanitizer | undefined): string[] {
  const name = under === undefined ? program : `${program}, sanitized`;
  return "crashed" in ran ? [`${name}: ${ran.crashed}`] : ran.wrong.map((what) => `${name}: ${what}`);
}
