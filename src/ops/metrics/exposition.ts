// /metrics: the families as prom-client's registry writes them. It is loaded by the first scrape, since a broker that nobody
// scrapes needs none of it. A scrape makes one family in each iteration of the event loop: all of them at once would be
// milliseconds in which nobody else is served.

import type { OpsSource } from "../ops-source.js";
import type { Reply } from "../side-port-answer.js";
import { readiness } from "../side-port-health.js";
import type { Route } from "../side-port-routes.js";
import { alwaysFamilies, type MetricsSource, servingFamilies } from "./families.js";
import type { Family, Value } from "./family.js";
import type { LoopWatch } from "./loop-watch.js";

/** What a registry asks of a metric. */
interface Metric {
  readonly name: string;
  get(): Promise<{
    readonly name: string;
    readonly help: string;
    readonly type: string;
    readonly values: readonly Value[];
  }>;
}

export class Exposition {
  private scraping: Promise<Reply> | undefined;

  constructor(
    private readonly source: OpsSource,
    private readonly loop: LoopWatch,
    private readonly tails: () => number,
  ) {}

  /** Who comes while one is made gets the same. */
  scrape(): Promise<Reply> {
    this.scraping ??= this.make().finally(() => {
      this.scraping = undefined;
    });
    return this.scraping;
  }

  private async make(): Promise<Reply> {
    const { default: Registry } = await import("prom-client/lib/registry.js");
    const registry = new Registry();
    for (const metric of this.metrics()) registry.registerMetric(metric);
    return { status: 200, type: Registry.PROMETHEUS_CONTENT_TYPE, body: await registry.metrics() };
  }

  private metrics(): readonly Metric[] {
    const { source, loop } = this;
    const broker = source.broker();
    const server = source.server();
    const { settings } = source.resolved;
    const seen: MetricsSource = {
      version: source.version,
      // Always the same number: computed from now and the uptime it would move a little each time, and every scrape look like a restart.
      startedAtMs: performance.timeOrigin,
      queuedBytesMax: settings["queued.bytes.max"],
      connectionsMax: source.connectionsMax,
      ready: readiness(broker?.health(), source.stopping()).ready,
      loop,
      tails: this.tails(),
    };
    let turn: Promise<void> = Promise.resolve();
    const of = <S>(family: Family<S>, from: S): Metric => {
      const mine = turn.then(nextTurn);
      turn = mine;
      return {
        name: family.name,
        get: async () => {
          await mine;
          const { name, help, type } = family;
          return { name, help, type, values: Array.from(await family.values(from)) };
        },
      };
    };
    const always = alwaysFamilies.map((family) => of(family, seen));
    if (broker === undefined || server === undefined) return always;
    const serving = { ...seen, broker, server };
    return [...always, ...servingFamilies.map((family) => of(family, serving))];
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const metricsRoute = (exposition: Exposition): Route => ({
  pattern: "/metrics",
  answer: () => exposition.scrape(),
});
