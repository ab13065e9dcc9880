// Formats everything: TypeScript, scripts and JSON by biome (imports sorted), C++ by clang-format. `npm run format`.

import { biome, formatNative } from "./lib/steps.mjs";

const results = [await biome(["check", "--write", "--linter-enabled=false"]), await formatNative()];
for (const { failed, output } of results) {
  if (failed > 0) console.error(output);
}
process.exit(results.some(({ failed }) => failed > 0) ? 1 : 0);
