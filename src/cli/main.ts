#!/usr/bin/env node
// The program `millrace`.

import { processIo } from "./io.js";
import { runCli } from "./program.js";

// At once: an open stdin that nobody reads any more would keep the process.
process.exit(await runCli(process.argv.slice(2), processIo()));
