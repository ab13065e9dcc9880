// A broker whose disk fails for one partition, orders-0, when a test says so: see failing-disk.c.

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BrokerProcess, spawnReady, testSettings } from "./broker.js";
import { preloadable } from "./preload.js";
import { tempDir } from "./tmp.js";

export interface FailingDisk {
  readonly broker: BrokerProcess;
  /** From now on. */
  readonly fail: () => void;
  readonly recover: () => void;
}

/** `what`: `FAIL_COLD`, `FAIL_BARRIERS`, `FAIL_EMPTY_WRITES`, `FAIL_WRITING_OUT` or nothing of these. */
export async function failingDisk(settings: Record<string, unknown>, ...what: readonly string[]): Promise<FailingDisk> {
  const dir = tempDir("failing-disk");
  const on = join(dir, "on");
  const environment: Record<string, string> = {
    LD_PRELOAD: preloadable("failing-disk"),
    FAIL_PATH: "/orders-0/",
    FAIL_SWITCH: on,
  };
  for (const name of what) environment[name] = "1";
  const all = { ...testSettings(join(dir, "log")), topics: "orders:3", ...settings };
  const broker = await spawnReady(all, { environment });
  return { broker, fail: () => writeFileSync(on, ""), recover: () => rmSync(on) };
}
