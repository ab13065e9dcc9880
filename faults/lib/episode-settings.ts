// Brokers that differ in everything that changes how records get to the disk and away from it. Small segments, so that rolls, seals and retention
// happen all the time.

import type { RecordFormat } from "../../src/model/record-format.js";
import { faultSettings, type Settings } from "./broker-process.js";
import type { Random } from "./random.js";

export interface EpisodeSettings {
  readonly settings: Settings;
  readonly partitions: number;
  readonly visibility: "written" | "durable";
  readonly retention: boolean;
  readonly recordFormat: RecordFormat;
  /** Bytes of records that one request may have. */
  readonly batchBytes: number;
}

export const MODES = ["MAPPED", "FILE_CHANNEL"] as const;

const KiB = 1024;

export function episodeSettings(random: Random, dataDir: string, topic = "orders"): EpisodeSettings {
  const partitions = random.pick([1, 1, 3]);
  const visibility = random.pick(["written", "durable"] as const);
  const recordFormat = random.pick(["crc32c", "crc32c", "plain"] as const);
  const segmentBytes = random.pick([16, 64, 256, 4096]) * KiB;
  const frameBytes = Math.min(segmentBytes - 4 * KiB, 8 * 1024 * KiB);
  const retention = random.chance(0.5);
  const sometimes = (chance: number, settings: Settings): Settings => (random.chance(chance) ? settings : {});
  const settings: Settings = {
    ...faultSettings(dataDir),
    topics: `${topic}:${partitions}`,
    "segment.mode": random.pick(MODES),
    "segment.bytes": segmentBytes,
    "max.frame.bytes": frameBytes,
    "record.format": recordFormat,
    visibility,
    "index.interval.bytes": random.pick([64, 512, 4096]),
    "fetch.mode": random.pick(["ZERO_COPY", "ZERO_COPY", "HEAP"]),
    ...sometimes(0.3, { "segment.roll.ms": random.pick([50, 300]) }),
    ...sometimes(0.2, { "flush.every.ms": random.pick([5, 50]) }),
    ...sometimes(0.2, { "flush.every.records": random.pick([10, 500]) }),
    ...sometimes(0.3, { "index.cache.bytes": 64 * KiB }),
    ...(retention ? { "retention.bytes": segmentBytes * random.pick([1, 4, 20]), "retention.check.ms": 20 } : {}),
    ...(retention && random.chance(0.3) ? { "retention.ms": random.pick([100, 1000]) } : {}),
  };
  return { settings, partitions, visibility, retention, recordFormat, batchBytes: frameBytes - 4 * KiB };
}
