// The program `millrace`: what runs when src/cli.ts is started.

import { processIo } from "./io.js";
import { runCli } from "./program.js";
import { stopSignalOf } from "./stop.js";

const io = processIo();
const code = await runCli(process.argv.slice(2), io);
const signal = stopSignalOf(code);
// An exit would wait for the thread that writes, maybe for ever; a signal that nobody handles does not.
if (signal !== undefined && io.stdout.isWriting) process.kill(process.pid, signal);
// At once: an open stdin that nobody reads any more would keep the process.
else process.exit(code);
