// Logs of many shapes, each as a crash would leave it just after its last batch was written, and as it was before that batch.

import { join } from "node:path";
import type { Log } from "../../../src/log/embedded.js";
import type { LogOptions as Options } from "../../../src/log/embedded-options.js";
import type { RecordFormat } from "../../../src/model/record-format.js";
import { makePayload, PAYLOAD_BYTES_MIN } from "../../lib/history/payload.js";
import { loadPackage } from "../../lib/product.js";
import type { Random } from "../../lib/random.js";
import type { Product } from "../../lib/rung.js";
import { walkSegment } from "./model.js";
import { layDown, logsOf, type Snapshot, takeSnapshot } from "./snapshot.js";

export interface Shape {
  readonly name: string;
  readonly options: Options;
  readonly format: RecordFormat;
  readonly before: Snapshot;
  readonly after: Snapshot;
  /** Every record that was written, by offset. */
  readonly truth: readonly Uint8Array[];
  readonly logStartOffset: number;
  /** Where the last batch begins. */
  readonly lastBatch: number;
}

const SEGMENT_BYTES = 4096;

/** What a shape does to the log; `last` is appended behind it and is what the damage is aimed at. */
interface Plan {
  readonly name: string;
  readonly make: (write: Writing) => Promise<void>;
  readonly last: readonly number[];
  readonly retentionBytes?: number;
  /** Closed cleanly behind the last batch. */
  readonly closed?: boolean;
}

/** A log that is written, closed and opened again; it keeps what was appended. */
class Writing {
  readonly truth: Uint8Array[] = [];
  log!: Log;

  constructor(
    readonly dir: string,
    readonly options: Options,
    readonly openLog: (dir: string, options: Options) => Promise<Log>,
  ) {}

  async open(): Promise<void> {
    this.log = await this.openLog(this.dir, this.options);
  }

  async append(sizes: readonly number[], ack: "written" | "forced"): Promise<void> {
    const payloads = sizes.map((size, at) => makePayload(1, this.truth.length + at, size));
    await this.log.appendBatch(payloads, { ack });
    this.truth.push(...payloads);
  }

  /** As a kill leaves it, with the end of its last record missing; opened again, which moves the rest away and begins an epoch. */
  async tear(): Promise<void> {
    const snapshot = new Map(takeSnapshot(this.dir));
    const file = logsOf(snapshot).at(-1)!;
    const { bytes, mtime } = snapshot.get(file)!;
    snapshot.set(file, { bytes: bytes.subarray(0, walkSegment(bytes, this.log.recordFormat).end - 3), mtime });
    await this.log.close();
    layDown(this.dir, snapshot);
    this.truth.pop();
    await this.open();
  }

  async reopen(): Promise<void> {
    await this.log.close();
    await this.open();
  }
}

const times = (count: number, size: number): number[] => Array.from({ length: count }, () => size);

const plans: readonly Plan[] = [
  { name: "fresh", make: () => Promise.resolve(), last: [20, 33, 47] },
  { name: "small", make: (log) => log.append([25, 40, 31], "forced"), last: [60, 41, 22] },
  {
    name: "behind a checkpoint",
    make: async (log) => {
      await log.append([25, 40, 31], "forced");
      await log.reopen();
      await log.append([50, 20], "forced");
    },
    last: [90, 17, 44],
  },
  {
    name: "torn before",
    make: async (log) => {
      await log.append([60, 60, 200], "forced");
      await log.append([300], "written");
      await log.tear();
    },
    last: [150, 260],
  },
  { name: "over sectors", make: (log) => log.append([100, 300], "forced"), last: [700, 500, 611] },
  { name: "one large", make: (log) => log.append([130], "forced"), last: [2600] },
  {
    name: "sealed segments",
    make: async (log) => {
      for (let i = 0; i < 5; i++) await log.append(times(3, 700), "forced");
    },
    last: [120, 340],
  },
  { name: "over two segments", make: (log) => log.append(times(3, 800), "forced"), last: times(4, 900) },
  {
    name: "unsealed segments",
    make: async (log) => {
      await log.append([100], "forced");
      for (let i = 0; i < 3; i++) await log.append(times(3, 700), "written");
    },
    last: [640, 300],
  },
  {
    name: "behind retention",
    retentionBytes: SEGMENT_BYTES,
    make: async (log) => {
      for (let i = 0; i < 6; i++) await log.append(times(3, 700), "forced");
    },
    last: [200, 55],
  },
  { name: "closed", closed: true, make: (log) => log.append(times(6, 900), "forced"), last: [150, 70] },
];

/** All shapes on one path and in one format. */
export async function makeShapes(
  product: Product,
  directory: string,
  mode: NonNullable<Options["mode"]>,
  format: RecordFormat,
  random: Random,
): Promise<Shape[]> {
  const { openLog } = await loadPackage(product);
  const made = plans.map((plan) => {
    const dir = join(directory, `shape-${plan.name.replaceAll(" ", "-")}-${mode}-${format}`);
    const draw = random.fork(plan.name);
    const options: Options = {
      mode,
      recordFormat: format,
      segmentBytes: SEGMENT_BYTES,
      indexIntervalBytes: draw.pick([64, 512, 4096]),
      diskReserveBytes: 0,
    };
    return makeShape(plan, `${plan.name}, ${mode}, ${format}`, new Writing(dir, options, openLog), draw);
  });
  return Promise.all(made);
}

async function makeShape(plan: Plan, name: string, writing: Writing, random: Random): Promise<Shape> {
  const { dir, options } = writing;
  await writing.open();
  await plan.make(writing);
  if (plan.retentionBytes !== undefined) {
    await retain(writing, plan.retentionBytes);
    await writing.append([33], "forced");
  }
  const before = takeSnapshot(dir);
  const lastBatch = writing.truth.length;
  // Sizes that differ a little from run to run, so that records end at every place of a sector over many runs.
  const sizes = plan.last.map((size) => Math.max(PAYLOAD_BYTES_MIN, size - random.int(0, 8)));
  await writing.append(sizes, "written");
  const { logStartOffset, recordFormat: format } = writing.log;
  if (plan.closed) await writing.log.close();
  const after = takeSnapshot(dir);
  await writing.log.close();
  return { name, options, format, before, after, truth: writing.truth, logStartOffset, lastBatch };
}

const RETAINED_MS = 20_000;

/** Opened with a bound, until retention has been applied, and again without. */
async function retain(writing: Writing, retentionBytes: number): Promise<void> {
  const { dir, options, openLog } = writing;
  await writing.log.close();
  const bounded = await openLog(dir, { ...options, retentionBytes });
  const until = performance.now() + RETAINED_MS;
  while (bounded.logStartOffset === 0) {
    if (performance.now() > until) throw new Error("retention removed nothing");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await bounded.close();
  await writing.open();
}
