// What METADATA says of topics: read when it is asked, kept nowhere. A partition that refused to open is there, with −1 in
// every number, so that "refused" and "empty" do not look the same.

import { offset, partitionId } from "../model/ids.js";
import type { PartitionMetadata, TopicMetadata } from "../protocol/metadata.js";
import type { Partition, Topic } from "./topic.js";

const UNKNOWN = offset(-1);

export function describeTopics(topics: readonly Topic[]): TopicMetadata[] {
  return topics.map((topic) => ({
    topic: topic.name,
    recordFormat: topic.recordFormat,
    partitions: topic.partitions.map(describePartition),
  }));
}

function describePartition({ id, writer }: Partition): PartitionMetadata {
  const partition = partitionId(id);
  if (writer === undefined) {
    return {
      partition,
      epoch: -1,
      logStartOffset: UNKNOWN,
      highWatermark: UNKNOWN,
      durableOffset: UNKNOWN,
      logEndOffset: UNKNOWN,
    };
  }
  const { epoch, logStartOffset, durableOffset, logEndOffset } = writer.log;
  return { partition, epoch, logStartOffset, highWatermark: writer.highWatermark, durableOffset, logEndOffset };
}
