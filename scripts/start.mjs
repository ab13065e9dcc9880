// `npm start`: set-up, then the broker in this very process, so that signals reach it, its exit code is the command's, and stdout has
// its ready line alone. Arguments are the broker's: `npm start -- --port 0`.

import { fileURLToPath } from "node:url";
import { setupOrExit } from "./setup.mjs";

await setupOrExit();
const broker = new URL("../dist/broker.js", import.meta.url);
process.argv[1] = fileURLToPath(broker);
await import(broker.href);
