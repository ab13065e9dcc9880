// The broker at a glance: numbers of now, and charts of the last minutes.

import { useState } from "preact/hooks";
import type { TopicsPage } from "../../../src/ops/api/types.js";
import { apiUrl } from "../lib/api.js";
import { bytes, count, exact, milliseconds, NOTHING, percent, plural, span } from "../lib/format.js";
import { type History, latest, latestWithin, type RateColumn } from "../lib/history.js";
import { useShortcuts } from "../lib/keys.js";
import { link } from "../lib/link.js";
import { usePolled } from "../lib/polled.js";
import { useHistory } from "../lib/rates-feed.js";
import { to } from "../lib/router.js";
import { useStore } from "../lib/store.js";
import { Chart, type Line } from "../parts/chart.js";
import { TopicsGrid } from "./topics.js";

const SPANS: readonly number[] = [2, 5, 10];

export function Overview() {
  const history = useHistory();
  const [minutes, setMinutes] = useState(5);
  useShortcuts("Overview", [
    {
      keys: "m",
      what: "next span of time",
      act: () => setMinutes(SPANS[(SPANS.indexOf(minutes) + 1) % SPANS.length] ?? 5),
    },
  ]);
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <Tiles history={history} />
      <div class="bar-of-choices">
        <h2>Last minutes</h2>
        <div class="choice" role="radiogroup" aria-label="Span of the charts">
          {SPANS.map((each) => (
            <label key={each} class={each === minutes ? "chosen" : ""}>
              <input type="radio" name="span" checked={each === minutes} onChange={() => setMinutes(each)} />
              {each} min
            </label>
          ))}
        </div>
      </div>
      <Charts history={history} spanMs={minutes * 60_000} />
      <Glance />
    </>
  );
}

function Tiles({ history }: { readonly history: History }) {
  const { broker } = useStore(link);
  const now = (column: RateColumn, format: (value: number) => string): string => {
    const value = latest(history, column);
    return value === null ? NOTHING : format(value);
  };
  const quantile = (column: RateColumn): string => {
    const value = latestWithin(history, column, 5);
    return value === null ? NOTHING : milliseconds(value);
  };
  const perSecond =
    (format: (value: number) => string) =>
    (value: number): string =>
      `${format(value)}/s`;
  const missing = broker?.diskMissingBytes ?? 0;
  return (
    <dl class="tiles">
      <Tile
        name="Records in"
        value={now("produceRecords", perSecond(count))}
        note={now("produceBytes", perSecond(bytes))}
      />
      <Tile
        name="Bytes out"
        value={now("fetchBytes", perSecond(bytes))}
        note={`${now("fetchRequests", count)} fetches/s`}
      />
      <Tile
        name="Produce forced, p99"
        value={quantile("produceForcedP99Ms")}
        note={`p50 ${quantile("produceForcedP50Ms")}`}
      />
      <Tile
        name="Produce written, p99"
        value={quantile("produceWrittenP99Ms")}
        note={`p50 ${quantile("produceWrittenP50Ms")}`}
      />
      <Tile name="Loop delay, p99" value={quantile("loopDelayP99Ms")} note={`${now("loopActive", percent)} busy`} />
      <Tile
        name="Waiting fetches"
        value={now("fetchesWaiting", exact)}
        note={plural(latest(history, "connections") ?? 0, "connection")}
      />
      <Tile name="Errors" value={now("errors", perSecond(count))} bad={(latest(history, "errors") ?? 0) > 0} />
      <Tile
        name="Disk available"
        value={now("diskAvailableBytes", bytes)}
        note={missing > 0 ? `${bytes(missing)} below the reserve` : "above the reserve"}
        bad={missing > 0}
      />
    </dl>
  );
}

interface TileProps {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
  readonly bad?: boolean;
}

function Tile({ name, value, note, bad = false }: TileProps) {
  return (
    <div class={bad ? "tile bad" : "tile"}>
      <dt>{name}</dt>
      <dd>
        {value}
        {note === undefined ? null : <small>{note}</small>}
      </dd>
    </div>
  );
}

function Charts({ history, spanMs }: { readonly history: History; readonly spanMs: number }) {
  const line = (label: string, column: RateColumn, color: number, dashed = false): Line => ({
    label,
    values: history.columns[column] ?? [],
    color,
    dashed,
  });
  const shared = { atMs: history.atMs, spanMs };
  const rate = (format: (value: number) => string) => (value: number) => `${format(value)}/s`;
  const latency = { ...shared, format: milliseconds, logarithmic: true };
  const quantiles = (p99: RateColumn, p50: RateColumn, color: number): readonly Line[] => [
    line("p99", p99, color),
    line("p50", p50, color, true),
  ];
  return (
    <div class="charts">
      <Chart
        {...shared}
        title="Records in"
        format={rate(count)}
        lines={[line("records", "produceRecords", 1)]}
        atLeast={10}
      />
      <Chart
        {...shared}
        title="Bytes"
        format={rate(bytes)}
        binary
        atLeast={1024}
        lines={[line("in", "produceBytes", 1), line("out", "fetchBytes", 2)]}
      />
      <Chart
        {...shared}
        title="Requests"
        format={rate(count)}
        atLeast={10}
        lines={[line("produce", "produceRequests", 1), line("fetch", "fetchRequests", 2), line("errors", "errors", 4)]}
      />
      <Chart {...latency} title="Produce, forced" lines={quantiles("produceForcedP99Ms", "produceForcedP50Ms", 3)} />
      <Chart {...latency} title="Produce, written" lines={quantiles("produceWrittenP99Ms", "produceWrittenP50Ms", 1)} />
      <Chart {...latency} title="Barrier" lines={quantiles("barrierP99Ms", "barrierP50Ms", 4)} />
      <Chart {...latency} title="Fetch, not waiting" lines={quantiles("fetchP99Ms", "fetchP50Ms", 2)} />
      <Chart
        {...shared}
        title="Waiting fetches"
        format={count}
        atLeast={5}
        lines={[line("waiting", "fetchesWaiting", 2), line("connections", "connections", 1)]}
      />
      <Chart
        {...shared}
        title="Event loop delay"
        format={milliseconds}
        atLeast={2}
        lines={[line("longest", "loopDelayMaxMs", 4), line("p99", "loopDelayP99Ms", 1)]}
      />
      <Chart
        {...shared}
        title="Event loop busy"
        format={percent}
        atLeast={0.1}
        lines={[line("busy", "loopActive", 1)]}
      />
      <Chart
        {...shared}
        title="Disk available"
        format={bytes}
        binary
        lines={[line("available", "diskAvailableBytes", 3)]}
      />
      <Chart
        {...shared}
        title="Memory"
        format={bytes}
        binary
        lines={[line("resident", "residentBytes", 1), line("queued", "queuedBytes", 4)]}
        atLeast={1024 * 1024}
      />
    </div>
  );
}

function Glance() {
  const { broker } = useStore(link);
  const { data } = usePolled<TopicsPage>(apiUrl(["topics"], { limit: 10 }), 5_000);
  return (
    <section>
      <div class="bar-of-choices">
        <h2>
          <a href={to.topics}>Topics</a>
        </h2>
        {broker === undefined ? null : (
          <span class="quiet">
            {plural(broker.topics, "topic")}, {plural(broker.partitions, "partition")} · up for {span(broker.uptimeMs)}
          </span>
        )}
      </div>
      <TopicsGrid topics={data?.topics.slice(0, 10) ?? []} label="Some topics" />
    </section>
  );
}
