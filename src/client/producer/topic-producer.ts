// A producer's handle for one topic.

import type { AppendOptions, Payload, Records, SendOptions, SentBatch, SentRecord } from "./producer-options.js";

/** What a handle passes its calls to. */
export interface TopicSender {
  send(topic: string, record: Payload, options?: SendOptions): Promise<SentRecord>;
  batch(topic: string, records: Records, options?: SendOptions): Promise<SentBatch>;
  append(topic: string, records: Records, options: AppendOptions): Promise<SentBatch>;
}

/** A topic of a producer, from {@link Producer.topic}: the same calls without the topic's name. It holds nothing and need not be closed. */
export class TopicProducer {
  constructor(
    readonly name: string,
    private readonly sender: TopicSender,
  ) {}

  /** As {@link Producer.send}. */
  send(record: Payload, options?: SendOptions): Promise<SentRecord> {
    return this.sender.send(this.name, record, options);
  }

  /** As {@link Producer.batch}. */
  batch(records: Records, options?: SendOptions): Promise<SentBatch> {
    return this.sender.batch(this.name, records, options);
  }

  /** As {@link Producer.append}. */
  append(records: Records, options: AppendOptions): Promise<SentBatch> {
    return this.sender.append(this.name, records, options);
  }
}
