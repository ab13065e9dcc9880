// All pages of the side port together: metrics, the API and the console, over one broker, and the numbers of each second that
// are taken for them from the start on.

import { join } from "node:path";
import { packageRoot } from "../native/load.js";
import { RateSampler } from "./api/rates.js";
import { RecordsReader } from "./api/read-records.js";
import { apiRoutes } from "./api/routes.js";
import { Tails } from "./api/tails.js";
import { Exposition, metricsRoute } from "./metrics/exposition.js";
import type { OpsSource } from "./ops-source.js";
import { ConsoleFiles, consoleRoute } from "./side-port-files.js";
import type { Route } from "./side-port-routes.js";

export interface OpsPages {
  readonly routes: readonly Route[];
  /** Takes no numbers any more. */
  stop(): void;
}

export function openOpsPages(source: OpsSource): OpsPages {
  const rates = new RateSampler(source);
  rates.begin();
  const reader = new RecordsReader();
  const tails = new Tails(reader, source.timers);
  const routes = [
    metricsRoute(new Exposition(source, rates.loop, () => tails.size)),
    ...apiRoutes(source, rates, reader, tails),
    consoleRoute(new ConsoleFiles(join(packageRoot(), "dist", "console"))),
  ];
  return { routes, stop: () => rates.stop() };
}
