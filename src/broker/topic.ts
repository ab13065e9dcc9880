// A topic and its partitions as the broker serves them. A partition that refused to open stays here, with the reason: it is
// named to operators and clients, and the others serve.

import type { PartitionWriter } from "../log/partition-writer.js";
import type { RecordFormat } from "../model/record-format.js";
import type { PartitionLog } from "../storage/partition-log.js";
import type { TopicOptions } from "./options.js";

export class Partition {
  /** Undefined: it refused to open, see {@link refusal}. */
  writer: PartitionWriter<PartitionLog> | undefined = undefined;
  log: PartitionLog | undefined = undefined;
  refusal: Error | undefined = undefined;

  constructor(
    readonly topic: Topic,
    readonly id: number,
    /** Its place in the catalog's list of all partitions: what a reply slot keeps instead of a reference. */
    readonly index: number,
    readonly dir: string,
  ) {}

  /** `orders-0`, for people. */
  get name(): string {
    return `${this.topic.name}-${this.id}`;
  }
}

export class Topic {
  readonly name: string;
  /** The name as it comes on the wire. */
  readonly nameBytes: Uint8Array;
  readonly partitions: Partition[] = [];
  /** Known when the first partition has opened. */
  recordFormat: RecordFormat;

  constructor(readonly options: TopicOptions) {
    this.name = options.name;
    this.nameBytes = new TextEncoder().encode(options.name);
    this.recordFormat = options.recordFormat ?? "crc32c";
  }
}
