// What a broker has counted since it started, by name. Read when somebody asks, kept nowhere.

import type { Broker } from "../broker/broker.js";
import { Count } from "../broker/counters.js";
import { ERROR_ROWS, type ErrorName } from "../model/error-codes.js";
import { SelectorCounter } from "../native/binding.js";
import type { Server } from "../server/server.js";

export interface BrokerStatistics {
  readonly produceRequests: number;
  readonly produceRecords: number;
  readonly produceBytes: number;
  readonly fetchRequests: number;
  readonly fetchBytes: number;
  /** Fetches that wait now: the next one of each connection, not those behind it. */
  readonly fetchesWaiting: number;
  /** Fetches that had to wait, those of them whose deadline passed, and those whose wait something else ended. */
  readonly fetchesParked: number;
  readonly fetchesExpired: number;
  readonly fetchesWoken: number;
  readonly metadataRequests: number;
  readonly listOffsetsRequests: number;
  /** Fetches that had to read an index or open a file first. */
  readonly fetchLoads: number;
  /** Requests that failed, by how. */
  readonly errors: Readonly<Record<Exclude<ErrorName, "NONE">, number>>;
  readonly connections: number;
  readonly connectionsAccepted: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Bytes of requests and answers that wait in memory. */
  readonly queuedBytes: number;
  readonly sendfileCalls: number;
  readonly sendfileBytes: number;
  /** Bytes of records that were read into memory and sent from there. */
  readonly heapBytes: number;
  /** Slices whose pages had to be read from the disk first. */
  readonly coldReads: number;
  /** Times that reading from connections stopped because of `queued.bytes.max`. */
  readonly pauses: number;
  /** Connections that were closed so that reading goes on, because their clients took no answers. */
  readonly connectionsShed: number;
  /** Times that no connection was accepted, for want of descriptors or because of `connections.max`. */
  readonly listenerPauses: number;
  /** Turns of the selector, and how long the longest of them took, what it called included. */
  readonly turns: number;
  readonly longestTurnMicroseconds: number;
}

export function statisticsOf(broker: Broker, server: Server): BrokerStatistics {
  const { values, errors } = broker.counters;
  const sockets = server.counters;
  const { purgatory } = broker.waits;
  const failed = ERROR_ROWS.filter(({ name }) => name !== "NONE").map(({ code, name }) => [name, errors[code]]);
  return {
    produceRequests: values[Count.PRODUCE_REQUESTS],
    produceRecords: values[Count.PRODUCE_RECORDS],
    produceBytes: values[Count.PRODUCE_BYTES],
    fetchRequests: values[Count.FETCH_REQUESTS],
    fetchBytes: values[Count.FETCH_BYTES],
    fetchesWaiting: purgatory.waiting,
    fetchesParked: purgatory.parkedTotal,
    fetchesExpired: purgatory.expiredTotal,
    fetchesWoken: purgatory.wokenTotal,
    metadataRequests: values[Count.METADATA_REQUESTS],
    listOffsetsRequests: values[Count.LIST_OFFSETS_REQUESTS],
    fetchLoads: values[Count.FETCH_LOADS],
    errors: Object.fromEntries(failed) as BrokerStatistics["errors"],
    connections: sockets[SelectorCounter.CONNECTIONS],
    connectionsAccepted: sockets[SelectorCounter.ACCEPTED],
    bytesIn: sockets[SelectorCounter.BYTES_IN],
    bytesOut: sockets[SelectorCounter.BYTES_OUT],
    queuedBytes: queuedBytes(sockets),
    sendfileCalls: sockets[SelectorCounter.SENDFILE_CALLS],
    sendfileBytes: sockets[SelectorCounter.SENDFILE_BYTES],
    heapBytes: sockets[SelectorCounter.HEAP_BYTES],
    coldReads: sockets[SelectorCounter.COLD_READS],
    pauses: sockets[SelectorCounter.PAUSES],
    connectionsShed: sockets[SelectorCounter.SHED],
    listenerPauses: sockets[SelectorCounter.LISTENER_PAUSES],
    turns: sockets[SelectorCounter.TURNS],
    longestTurnMicroseconds: sockets[SelectorCounter.LONGEST_TURN_US],
  };
}

/** Bytes of requests and answers that wait in memory, whoever holds them. */
export function queuedBytes(sockets: Float64Array): number {
  return (
    sockets[SelectorCounter.EXTERNAL_QUEUED_BYTES] +
    sockets[SelectorCounter.GATHERED_BYTES] +
    sockets[SelectorCounter.OUTPUT_BYTES]
  );
}
