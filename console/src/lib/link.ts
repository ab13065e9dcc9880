// How it stands between this page and its broker: asked for every two seconds, told at the top of every page. Every other
// question that finds nobody there makes this one come at once.

import type { BrokerInfo } from "../../../src/ops/api/types.js";
import { apiUrl, ask, Refusal } from "./api.js";
import { Store } from "./store.js";

export type LinkState =
  | "connecting"
  | "ready"
  /** Partitions are being opened. */
  | "starting"
  | "stopping"
  /** It serves, but something is wrong: a partition, the disk. */
  | "impaired"
  | "unreachable";

export interface Link {
  readonly state: LinkState;
  /** When that began, by this machine's clock. */
  readonly sinceMs: number;
  /** When the broker last answered. */
  readonly answeredMs: number | undefined;
  readonly reasons: readonly string[];
  /** What it last said of itself. */
  readonly broker: BrokerInfo | undefined;
}

const EVERY_MS = 2_000;

export const link = new Store<Link>({
  state: "connecting",
  sinceMs: Date.now(),
  answeredMs: undefined,
  reasons: [],
  broker: undefined,
});

function change(state: LinkState, reasons: readonly string[], broker?: BrokerInfo): void {
  const before = link.get();
  const now = Date.now();
  link.set({
    state,
    sinceMs: state === before.state ? before.sinceMs : now,
    answeredMs: state === "unreachable" ? before.answeredMs : now,
    reasons,
    broker: broker ?? before.broker,
  });
}

const stateOf = ({ ready, stopping }: BrokerInfo): LinkState => (stopping ? "stopping" : ready ? "ready" : "impaired");

async function look(): Promise<void> {
  try {
    const broker = await ask<BrokerInfo>(apiUrl(["broker"]));
    change(stateOf(broker), broker.reasons, broker);
  } catch (error) {
    if (error instanceof Refusal) change(error.code === "NOT_READY" ? "starting" : "impaired", [error.message]);
    else change("unreachable", [error instanceof Error ? error.message : String(error)]);
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;
let looking: Promise<void> | undefined;

/** Looks now, and from then on. Comes back when an answer is there, or is not to come. */
export async function watchLink(): Promise<void> {
  clearTimeout(timer);
  looking ??= look().finally(() => {
    looking = undefined;
    timer = setTimeout(() => void watchLink(), EVERY_MS);
  });
  await looking;
}

/** Somebody found nobody there. */
export function linkFailed(): void {
  if (link.get().state !== "unreachable") void watchLink();
}
