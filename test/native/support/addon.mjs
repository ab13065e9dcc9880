// The addon for scripts that run without a bundler: children and worker_threads of the tests.

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
export const native = require("node-gyp-build")(fileURLToPath(new URL("../../..", import.meta.url)));
