// A writer on a storage whose slow parts end when the test says so: what cannot be timed on a real disk.

import { PartitionWriter, type WriterPolicy } from "../../../src/log/partition-writer.js";
import { Scheduler } from "../../../src/log/scheduler.js";
import { AckPolicy } from "../../../src/model/ack-policy.js";
import { Answers } from "./answers.js";
import { FakeLog, FakeTurn } from "./fake-log.js";
import { FakeTimers } from "./fake-timers.js";
import { region } from "./regions.js";

export function setUp(policy: Partial<WriterPolicy> = {}, log = new FakeLog(10_000)) {
  const scheduler = new Scheduler({ turnBytes: 100_000, queuedBytesMax: 100_000 }, new FakeTurn(100), () => 0);
  scheduler.onWork = () => undefined;
  const timers = new FakeTimers();
  const all: WriterPolicy = { visibility: "written", mailboxBytes: 100_000, ...policy };
  const writer = new PartitionWriter(log, scheduler, all, timers);
  const answers = new Answers();
  let published = 0;
  writer.onPublished = () => void published++;
  const offer = (token: number, payloads: string[], ack: AckPolicy = AckPolicy.WRITTEN, expected = -1) => {
    const bytes = region(payloads);
    writer.offer(bytes, 0, bytes.length, payloads.length, ack, expected, answers, token);
  };
  const append = (token: number, ack: AckPolicy = AckPolicy.WRITTEN) => {
    offer(token, [`record ${token}`], ack);
    scheduler.run();
  };
  return { log, scheduler, timers, writer, answers, offer, append, published: () => published };
}
