// Every metric of /metrics, in the order in which it is shown. Names are the field's, with the unit last; docs/metrics.md is
// made from this table.

import { stat } from "node:fs/promises";
import type { Broker } from "../../broker/broker.js";
import { Count, Timed } from "../../broker/counters.js";
import { ERROR_ROWS } from "../../model/error-codes.js";
import { native, SelectorCounter } from "../../native/binding.js";
import type { Server } from "../../server/server.js";
import { queuedBytes } from "../statistics.js";
import { counter, type Family, gauge, histogram, labelled } from "./family.js";
import type { LoopWatch } from "./loop-watch.js";
import { partitionFamilies } from "./partition-families.js";

/** What a scrape looks at. */
export interface MetricsSource {
  readonly version: string;
  readonly startedAtMs: number;
  readonly queuedBytesMax: number;
  readonly connectionsMax: number;
  readonly ready: boolean;
  readonly loop: LoopWatch;
  /** Live tails on the side port. */
  readonly tails: number;
}

/** The same of a broker that takes requests. */
export interface ServingSource extends MetricsSource {
  readonly broker: Broker;
  readonly server: Server;
}

const MICRO = 1e-6;

const counts = ({ broker }: ServingSource): Float64Array => broker.counters.values;
const sockets = ({ server }: ServingSource): Float64Array => server.counters;
const purgatory = ({ broker }: ServingSource) => broker.waits.purgatory;

const requests: readonly Family<ServingSource>[] = [
  counter(
    "millrace_produce_requests_total",
    "PRODUCE requests that arrived.",
    (s) => counts(s)[Count.PRODUCE_REQUESTS],
  ),
  counter(
    "millrace_produce_records_total",
    "Records of PRODUCE requests that were handed to a partition, also of those that were refused there.",
    (s) => counts(s)[Count.PRODUCE_RECORDS],
  ),
  counter(
    "millrace_produce_bytes_total",
    "Bytes of these records as they were sent: payloads and their lengths.",
    (s) => counts(s)[Count.PRODUCE_BYTES],
  ),
  counter("millrace_fetch_requests_total", "FETCH requests that arrived.", (s) => counts(s)[Count.FETCH_REQUESTS]),
  counter(
    "millrace_fetch_bytes_total",
    "Bytes of records that fetches were answered with, as stored. How many records they are nobody counts: they go from the page cache to the socket.",
    (s) => counts(s)[Count.FETCH_BYTES],
  ),
  counter(
    "millrace_metadata_requests_total",
    "METADATA requests that arrived.",
    (s) => counts(s)[Count.METADATA_REQUESTS],
  ),
  counter(
    "millrace_list_offsets_requests_total",
    "LIST_OFFSETS requests that arrived.",
    (s) => counts(s)[Count.LIST_OFFSETS_REQUESTS],
  ),
  labelled(
    "counter",
    "millrace_request_errors_total",
    "Requests that failed, by the error's name; also those whose producer asked for no answer. Of a fetch of several partitions each one counts.",
    "code",
    (s) =>
      ERROR_ROWS.filter(({ name }) => name !== "NONE").map(
        ({ code, name }) => [name, s.broker.counters.errors[code]] as const,
      ),
  ),
  histogram(
    "millrace_produce_duration_seconds",
    "From the arrival of a PRODUCE to its answer, by what it waited for. With ack none there is no answer, and nothing to measure.",
    ["ack"],
    MICRO,
    ({ broker: { counters } }) => [
      { labels: { ack: "written" }, histogram: counters.latencies[Timed.PRODUCE_WRITTEN] },
      { labels: { ack: "forced" }, histogram: counters.latencies[Timed.PRODUCE_FORCED] },
    ],
  ),
  histogram(
    "millrace_fetch_duration_seconds",
    "From the arrival of a FETCH to its answer. Those that waited for records are counted apart: theirs is the producers' time.",
    ["waited"],
    MICRO,
    ({ broker: { counters } }) => [
      { labels: { waited: "no" }, histogram: counters.latencies[Timed.FETCH] },
      { labels: { waited: "yes" }, histogram: counters.latencies[Timed.FETCH_WAITED] },
    ],
  ),
];

const barriers: readonly Family<ServingSource>[] = [
  histogram(
    "millrace_barrier_duration_seconds",
    "How long a partition's barrier took, waiting for a thread included.",
    [],
    MICRO,
    ({ broker }) => [{ labels: {}, histogram: broker.scheduler.barriers.durations }],
  ),
  histogram(
    "millrace_barrier_group_size",
    "Batches that one barrier answered, where any waited for it.",
    [],
    1,
    ({ broker }) => [{ labels: {}, histogram: broker.scheduler.barriers.groups }],
  ),
  counter(
    "millrace_barrier_failures_total",
    "Barriers that failed. The partition takes no writes since.",
    ({ broker }) => broker.scheduler.barriers.failed,
  ),
  counter("millrace_barriers_issued_total", "fsync, fdatasync and msync calls that were really made.", () =>
    native.barrierCount(),
  ),
];

const waits: readonly Family<ServingSource>[] = [
  gauge("millrace_fetches_waiting", "Fetches that wait for records now.", (s) => purgatory(s).waiting),
  counter("millrace_fetches_parked_total", "Fetches that had to wait.", (s) => purgatory(s).parkedTotal),
  counter("millrace_fetches_expired_total", "Waits that ended by their deadline.", (s) => purgatory(s).expiredTotal),
  counter("millrace_fetches_woken_total", "Waits that something else ended.", (s) => purgatory(s).wokenTotal),
  counter(
    "millrace_fetch_loads_total",
    "Times that an index page or a file had to be read or opened before a fetch could be planned.",
    (s) => counts(s)[Count.FETCH_LOADS],
  ),
  counter(
    "millrace_cold_reads_total",
    "Pieces of answers whose pages had to be read from the disk first.",
    (s) => sockets(s)[SelectorCounter.COLD_READS],
  ),
  counter(
    "millrace_fetch_file_failures_total",
    "Pieces of answers that could not be read from their segment when they were to be sent.",
    (s) => sockets(s)[SelectorCounter.FILE_FAILURES],
  ),
];

const network: readonly Family<ServingSource>[] = [
  gauge("millrace_connections", "Connections of clients now.", (s) => sockets(s)[SelectorCounter.CONNECTIONS]),
  gauge("millrace_connections_limit", "How many are taken at most.", ({ connectionsMax }) => connectionsMax),
  counter(
    "millrace_connections_accepted_total",
    "Connections that were accepted.",
    (s) => sockets(s)[SelectorCounter.ACCEPTED],
  ),
  counter("millrace_received_bytes_total", "Bytes from clients.", (s) => sockets(s)[SelectorCounter.BYTES_IN]),
  counter("millrace_sent_bytes_total", "Bytes to clients.", (s) => sockets(s)[SelectorCounter.BYTES_OUT]),
  counter(
    "millrace_zero_copy_bytes_total",
    "Bytes of records that went from the page cache to a socket (sendfile).",
    (s) => sockets(s)[SelectorCounter.SENDFILE_BYTES],
  ),
  counter("millrace_zero_copy_calls_total", "Calls of sendfile.", (s) => sockets(s)[SelectorCounter.SENDFILE_CALLS]),
  counter(
    "millrace_heap_bytes_total",
    "Bytes of records that were read into memory and sent from there.",
    (s) => sockets(s)[SelectorCounter.HEAP_BYTES],
  ),
  gauge("millrace_queued_bytes", "Bytes of requests and answers that wait in memory.", (s) => queuedBytes(sockets(s))),
  gauge("millrace_queued_bytes_limit", "queued.bytes.max.", ({ queuedBytesMax }) => queuedBytesMax),
  counter(
    "millrace_read_pauses_total",
    "Times that reading from connections stopped because of queued.bytes.max.",
    (s) => sockets(s)[SelectorCounter.PAUSES],
  ),
  counter(
    "millrace_connections_shed_total",
    "Connections that were closed because their clients took no answers while queued.bytes.max kept others from being read.",
    (s) => sockets(s)[SelectorCounter.SHED],
  ),
  counter(
    "millrace_listener_pauses_total",
    "Times that no connection was accepted, for want of descriptors or because of connections.max.",
    (s) => sockets(s)[SelectorCounter.LISTENER_PAUSES],
  ),
];

const storage: readonly Family<ServingSource>[] = [
  gauge(
    "millrace_disk_available_bytes",
    "What may still be written before produces get LOG_FULL.",
    ({ broker }) => broker.diskAvailableBytes,
  ),
  labelled(
    "counter",
    "millrace_storage_events_total",
    "What storage told the operator, by kind (docs/logs.md): segments rolled and removed, recoveries, partitions poisoned, …",
    "kind",
    ({ broker }) => broker.counters.storageEvents,
  ),
];

const loop: readonly Family<MetricsSource>[] = [
  histogram(
    "millrace_event_loop_delay_seconds",
    "How much later than it should a timer came: what everything else waited for. Looked at 50 times a second while the loop works, once a second else.",
    [],
    MICRO,
    ({ loop: watch }) => [{ labels: {}, histogram: watch.delays }],
  ),
  counter(
    "millrace_event_loop_active_seconds_total",
    "Time that the event loop spent on work, and not waiting for some.",
    ({ loop: watch }) => watch.activeSeconds,
  ),
];

const turns: readonly Family<ServingSource>[] = [
  counter("millrace_turns_total", "Turns of the selector.", (s) => sockets(s)[SelectorCounter.TURNS]),
  gauge(
    "millrace_longest_turn_seconds",
    "The longest of them since the start, with what it called.",
    (s) => sockets(s)[SelectorCounter.LONGEST_TURN_US] * MICRO,
  ),
];

const processFamilies: readonly Family<MetricsSource>[] = [
  {
    name: "millrace_build_info",
    type: "gauge",
    help: "1; what runs here, in labels.",
    labels: ["version", "node", "platform"],
    values: ({ version }) => [
      { labels: { version, node: process.versions.node, platform: native.platform }, value: 1 },
    ],
  },
  gauge("millrace_ready", "1 when /readyz says so.", ({ ready }) => Number(ready)),
  gauge("millrace_tails", "Live tails that the side port sends now.", ({ tails }) => tails),
  counter("process_cpu_seconds_total", "Processor time of all threads.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) * MICRO;
  }),
  gauge("process_resident_memory_bytes", "Memory in use, mapped segments included.", () => process.memoryUsage.rss()),
  gauge("process_start_time_seconds", "When the process started.", ({ startedAtMs }) => startedAtMs / 1000),
  {
    name: "process_open_fds",
    type: "gauge",
    help: "Open files and sockets; only where the system says it without a list of them (Linux 6.2).",
    labels: [],
    values: async () => {
      const { size } = await stat("/proc/self/fd").catch(() => ({ size: 0 }));
      return size > 0 ? [{ labels: {}, value: size }] : [];
    },
  },
  gauge("process_max_fds", "How many there may be.", () => native.openFilesLimit()),
  gauge("nodejs_heap_size_used_bytes", "Of JavaScript's heap.", () => process.memoryUsage().heapUsed),
  gauge("nodejs_heap_size_total_bytes", "Of JavaScript's heap.", () => process.memoryUsage().heapTotal),
  gauge("nodejs_external_memory_bytes", "Buffers outside of it.", () => process.memoryUsage().external),
];

/** There at any time. */
export const alwaysFamilies: readonly Family<MetricsSource>[] = [...processFamilies, ...loop];

/** There once the broker takes requests. */
export const servingFamilies: readonly Family<ServingSource>[] = [
  ...requests,
  ...barriers,
  ...waits,
  ...network,
  ...turns,
  ...storage,
  ...partitionFamilies,
];
