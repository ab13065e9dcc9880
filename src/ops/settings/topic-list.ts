// The value of `topics`: which topics there are and how many partitions each has, as `orders:3,clicks:1`.

import { PARTITIONS_MAX } from "../../model/limits.js";
import { isTopicName, TOPIC_NAME_RULE } from "../../model/topic-name.js";
import { integer, type Kind, kind, NotTaken } from "./kinds.js";

export interface TopicCount {
  readonly name: string;
  readonly partitions: number;
}

/** The number of partitions of one topic, in the list and in `[topics.x]`. */
export const partitionCount: Kind<number> = integer(1, PARTITIONS_MAX);

export const topicList: Kind<readonly TopicCount[]> = kind(
  (written) => {
    if (typeof written !== "string") return undefined;
    const topics: TopicCount[] = [];
    for (const item of written.split(",")) {
      const match = /^([^:]+):(\d{1,5})$/.exec(item.trim());
      if (match === null || !isTopicName(match[1])) return undefined;
      if (topics.some((topic) => topic.name === match[1])) return new NotTaken(`${match[1]} is named twice`);
      const partitions = Number(match[2]);
      if (partitions < 1 || partitions > PARTITIONS_MAX) return undefined;
      topics.push({ name: match[1], partitions });
    }
    return topics;
  },
  {
    takes:
      `name:partitions separated by commas, each name once, as orders:3,clicks:1 (names: ${TOPIC_NAME_RULE}; ` +
      `partitions: 1 to ${PARTITIONS_MAX})`,
    show: (topics) => topics.map((topic) => `${topic.name}:${topic.partitions}`).join(","),
  },
);
