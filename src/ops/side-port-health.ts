// Whether the broker is ready, and if not, why, in sentences.

import type { BrokerHealth } from "../broker/broker.js";

export interface Readiness {
  readonly ready: boolean;
  /** Why not. */
  readonly reasons: readonly string[];
  readonly refused: BrokerHealth["refused"];
  readonly poisoned: BrokerHealth["poisoned"];
  readonly diskAvailableBytes?: number;
  readonly diskMissingBytes?: number;
}

/** `health` is undefined while partitions are being opened. */
export function readiness(health: BrokerHealth | undefined, stopping: boolean): Readiness {
  if (health === undefined) {
    return { ready: false, reasons: ["partitions are being opened"], refused: [], poisoned: [] };
  }
  const reasons: string[] = [];
  if (stopping) reasons.push("the broker is stopping");
  for (const { partition, reason } of health.refused) reasons.push(`${partition} refused to open: ${reason}`);
  for (const { partition, reason } of health.poisoned) reasons.push(`${partition} refuses writes: ${reason}`);
  const { diskFull, ...shown } = health;
  if (diskFull) reasons.push("the disk is full up to disk.reserve.bytes");
  return { ready: reasons.length === 0, reasons, ...shown };
}
