// All checks that need nothing but this machine: `npm test` and `npm run check`. One line for each step; the whole output of a step that
// fails; at the end a line that counts every test, each step without tests of its own as one.
//
//   node scripts/check.mjs                    all
//   node scripts/check.mjs --only tests       one of them, its output as it comes; may be given several times

import { countsLine } from "./lib/counts.mjs";
import { spent } from "./lib/run.mjs";
import { steps } from "./lib/steps.mjs";

function chosen(args) {
  const names = [];
  for (let at = 0; at < args.length; at += 2) {
    if (args[at] !== "--only" || !steps.some(({ name }) => name === args[at + 1])) {
      console.error(`usage: check.mjs [--only NAME] …   with NAME one of ${steps.map(({ name }) => name).join(", ")}`);
      process.exit(2);
    }
    names.push(args[at + 1]);
  }
  return names.length === 0 ? steps.filter(({ usual }) => usual) : steps.filter(({ name }) => names.includes(name));
}

const toRun = chosen(process.argv.slice(2));
const onLine = toRun.length === 1 ? (line) => console.log(line) : undefined;
const since = performance.now();
const total = { passed: 0, failed: 0, skipped: 0 };

for (const { name, action } of toRun) {
  const begun = performance.now();
  const { passed, failed, skipped, output } = await action(onLine);
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped.length;
  if (failed > 0 && output !== "") console.log(`\n${output.trimEnd()}\n`);
  console.log(`${name.padEnd(14)} ${countsLine({ passed, failed, skipped: skipped.length })}, ${spent(begun)}`);
  for (const each of skipped) console.log(`  skipped: ${each.name}: ${each.why}`);
}

console.log(`all in ${spent(since)}`);
console.log(countsLine(total));
process.exit(total.failed === 0 ? 0 : 1);
