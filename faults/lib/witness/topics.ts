// The topics that the rungs with disks work on: both paths, both visibilities, both formats, in small segments, so that a second of load
// rolls, seals and removes.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Settings } from "../broker-process.js";
import { Ledger, type LedgerTopic } from "./ledger.js";

export interface Scale {
  readonly segmentBytes: number;
  /** Undefined: nothing is removed. */
  readonly retentionBytes?: number;
  readonly partitions: number;
  readonly frameBytes: number;
  /** One record in 64 is up to so many times as large as the others. */
  readonly largeTimes: number;
}

const topics = [
  { topic: "mapped", mode: "MAPPED", format: "crc32c", durable: false, recordBytes: 300 },
  { topic: "channel", mode: "FILE_CHANNEL", format: "crc32c", durable: false, recordBytes: 300 },
  { topic: "mapped-durable", mode: "MAPPED", format: "crc32c", durable: true, recordBytes: 900 },
  { topic: "channel-durable", mode: "FILE_CHANNEL", format: "crc32c", durable: true, recordBytes: 900 },
  { topic: "plain", mode: "MAPPED", format: "plain", durable: false, recordBytes: 200 },
] as const;

/** Writes the broker's settings file. Resolves to the flags that go with it. */
export async function writeSettings(directory: string, dataDir: string, scale: Scale): Promise<Settings> {
  const file = join(directory, "millrace.toml");
  const sections = topics.map(({ topic, mode, format, durable }) =>
    [
      `[topics.${topic}]`,
      `partitions = ${scale.partitions}`,
      `"segment.mode" = "${mode}"`,
      `"record.format" = "${format}"`,
      `visibility = "${durable ? "durable" : "written"}"`,
      `"segment.bytes" = ${scale.segmentBytes}`,
      ...(scale.retentionBytes === undefined ? [] : [`"retention.bytes" = ${scale.retentionBytes}`]),
    ].join("\n"),
  );
  await writeFile(file, `${sections.join("\n\n")}\n`);
  return {
    config: file,
    "data.dir": dataDir,
    port: 0,
    "ops.enabled": false,
    "disk.reserve.bytes": 0,
    "max.frame.bytes": scale.frameBytes,
    "retention.check.ms": 100,
    "index.interval.bytes": 1024,
  };
}

export function ledgersOf(scale: Scale, salt: number): Ledger[] {
  return topics.flatMap((each, index) =>
    Array.from({ length: scale.partitions }, (_, partition) => {
      const { topic, format, durable, recordBytes } = each;
      const { retentionBytes, segmentBytes, largeTimes } = scale;
      // The segment that goes may be what was too much by a byte; and a batch may have rolled meanwhile.
      const keptBytes = retentionBytes === undefined ? undefined : Math.max(0, retentionBytes - 2 * segmentBytes);
      const at: LedgerTopic = { topic, partition, format, durable, recordBytes, largeTimes, keptBytes };
      return new Ledger(at, salt + index * 1000 + partition);
    }),
  );
}
