// A PRODUCE straight into the outbox: the records are copied once, from their region to where the socket takes them.

import type { AckPolicy } from "../model/ack-policy.js";
import {
  produceRequestBytes,
  produceV2RequestBytes,
  writeProduceRequest,
  writeProduceV2Request,
} from "../protocol/produce.js";
import type { Outbox } from "./outbox.js";
import type { RecordRegion } from "./record-region.js";

export interface ProduceTarget {
  readonly topic: string;
  readonly partition: number;
  readonly ack: AckPolicy;
  /** Undefined: any. */
  readonly expectedOffset: number | undefined;
}

export function writeProduce(outbox: Outbox, id: number, target: ProduceTarget, region: RecordRegion): void {
  const { topic, partition, ack, expectedOffset } = target;
  const { bytes, records } = region;
  const size = bytes.length;
  let to: number;
  if (expectedOffset === undefined) {
    const at = outbox.reserve(produceRequestBytes(topic, size));
    to = writeProduceRequest(outbox.view, at, id, topic, partition, ack, records, size);
  } else {
    const at = outbox.reserve(produceV2RequestBytes(topic, size));
    to = writeProduceV2Request(outbox.view, at, id, topic, partition, ack, expectedOffset, records, size);
  }
  outbox.bytes.set(bytes, to);
}
