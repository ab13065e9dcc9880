// The broker itself: where it runs, and each setting with where it came from.

import { dateTime, exact, span } from "../lib/format.js";
import { link } from "../lib/link.js";
import { useStore } from "../lib/store.js";
import { Facts } from "../parts/facts.js";
import { type Column, Grid } from "../parts/grid.js";

const COLUMNS: readonly Column[] = [
  { label: "Setting", width: "minmax(10rem, 1fr)" },
  { label: "Value", width: "minmax(6rem, 1fr)" },
  { label: "From", width: "minmax(6rem, 1fr)" },
];

export function BrokerPage() {
  const { broker } = useStore(link);
  if (broker === undefined) return <p class="quiet">…</p>;
  const { settings } = broker;
  return (
    <>
      <div class="bar-of-choices">
        <h1>Broker</h1>
      </div>
      <Facts
        facts={[
          ["Clients", `${broker.host}:${broker.port}`, broker.socketPath ?? undefined],
          ["Side port", `${broker.opsHost}:${broker.opsPort}`, "reads only"],
          ["Version", broker.version, `Node ${broker.node.replace(/^v/, "")}, ${broker.platform}`],
          ["Process", String(broker.pid), `since ${dateTime(broker.startedAtMs)}`],
          ["Up for", span(broker.uptimeMs)],
          ["Topics", exact(broker.topics), `${exact(broker.partitions)} partitions`],
          ["Data", <code key="d">{broker.dataDir}</code>],
        ]}
      />
      <Grid
        label="Settings"
        columns={COLUMNS}
        count={settings.length}
        fill
        empty=""
        row={(index) => {
          const setting = settings[index];
          if (setting === undefined) return undefined;
          const { key, value, origin } = setting;
          return {
            tone: origin === "default" ? "quiet" : undefined,
            cells: [<code key="k">{key}</code>, <code key="v">{value}</code>, origin],
          };
        }}
      />
    </>
  );
}
