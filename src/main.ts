// `node dist/broker.js` is the broker. What it does is in ops/serve.ts.

import { serve } from "./ops/serve.js";

process.exit(await serve(process.argv.slice(2), process.env));
