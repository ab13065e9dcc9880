// One run of `millrace produce`: reads no faster than the broker takes, and stops in order when a batch is refused, a line is
// wrong or somebody wants it to end.

import type { Connection } from "../../client/connection.js";
import { RegionBuilder } from "../../client/record-region.js";
import { AckPolicy } from "../../model/ack-policy.js";
import { systemTimers } from "../../model/clock.js";
import { CLI_SIGNAL_WAIT_MS } from "../../model/limits.js";
import { LENGTH_BYTES } from "../../protocol/frame.js";
import { produceRequestBytes } from "../../protocol/produce.js";
import type { BrokerOption } from "../connect.js";
import { type Framing, type RecordSource, recordsOf } from "../framing.js";
import type { Input, Io } from "../io.js";
import { Output } from "../output.js";
import { Progress } from "../progress.js";
import { StoppedBySignal, type StopSignal, Waiting } from "../stop.js";
import { unescaped } from "../values.js";
import { LineProducer } from "./line-producer.js";
import { OffsetPrinter } from "./offset-printer.js";
import { Pace } from "./pace.js";

export interface ProduceVerbOptions extends BrokerOption {
  readonly partition?: number;
  readonly keySeparator?: string;
  readonly ack: keyof typeof ACKS;
  readonly framing: Framing;
  readonly batchBytes: number;
  readonly lingerMs: number;
  readonly retryFor: number;
  readonly rate?: number;
  readonly skipEmpty?: boolean;
  readonly printOffsets?: boolean;
}

export const ACKS = { forced: AckPolicy.FORCED, written: AckPolicy.WRITTEN, none: AckPolicy.NONE } as const;

export class ProduceRun {
  readonly producer: LineProducer;
  private readonly offsets: OffsetPrinter | undefined;
  private readonly progress: Progress;
  private readonly source: RecordSource;
  private readonly pace: Pace | undefined;
  private readonly waiting = new Waiting();
  private inputBytes = 0;
  private signal: StopSignal | undefined;
  private isEnding = false;

  constructor(
    connection: Connection,
    topic: string,
    partitions: number,
    private readonly options: ProduceVerbOptions,
    private readonly io: Io,
  ) {
    const recordBytesMax = connection.maxFrameBytes + LENGTH_BYTES - produceRequestBytes(topic, RegionBuilder.cost(0));
    const requestBytesMax = RegionBuilder.cost(recordBytesMax);
    const now = (): number => performance.now();
    this.offsets = options.printOffsets ? new OffsetPrinter(new Output(io.stdout)) : undefined;
    // Only offsets are data: without them a terminal is free for the progress.
    const stdoutIsTerminal = io.stdoutIsTerminal && this.offsets !== undefined;
    this.progress = new Progress({ stderr: io.stderr, stdoutIsTerminal }, now, "record");
    this.producer = new LineProducer(connection, {
      topic,
      partitions,
      partition: options.partition,
      keySeparator: options.keySeparator === undefined ? undefined : Buffer.from(unescaped(options.keySeparator)),
      ack: ACKS[options.ack],
      batchBytes: Math.min(options.batchBytes, requestBytesMax),
      requestBytesMax,
      lingerMs: options.lingerMs,
      retryMs: options.retryFor,
      timers: systemTimers,
      now,
      onAcknowledged: (partition, baseOffset) => this.offsets?.print(partition, baseOffset),
      onRetry: ({ message }) => this.tell(`${message}; trying again`),
      // While it ends already, the other answers are still waited for.
      onFailure: () => this.isEnding || this.waiting.interrupt(),
    });
    const framing = { recordBytesMax, skipEmpty: options.skipEmpty === true };
    this.source = recordsOf(options.framing, framing, this.producer);
    this.pace = options.rate === undefined ? undefined : new Pace(options.rate, now);
  }

  async read(input: Input): Promise<void> {
    const { producer, progress } = this;
    const unheard = this.io.onStopSignal((signal) => {
      this.signal ??= signal;
      this.waiting.interrupt();
    });
    try {
      await this.readAll(input);
    } catch (error) {
      await this.settle();
      progress.clear();
      throw error;
    } finally {
      unheard();
    }
    const done = this.options.ack === "none" ? "sent without acknowledgement:" : `acknowledged (${this.options.ack}):`;
    progress.done(producer.sent, this.inputBytes, done);
  }

  private async readAll(input: Input): Promise<void> {
    const chunks = input.chunks[Symbol.asyncIterator]();
    for (;;) {
      // An input that never ends must not keep anything from being said.
      const next = await this.unlessStopped(chunks.next());
      if (next.done === true) break;
      await this.take(next.value, input.bytes);
    }
    this.source.end();
    await this.unlessStopped(this.producer.finish());
    await this.unlessStopped(this.offsets?.flush() ?? Promise.resolve());
  }

  private async take(chunk: Uint8Array, inputBytes: number | undefined): Promise<void> {
    const { producer, progress, pace } = this;
    for (const piece of pace?.pieces(chunk) ?? [chunk]) {
      this.source.push(piece);
      this.inputBytes += piece.length;
      if (pace !== undefined) await this.unlessStopped(pace.wait(producer.lastLine));
      await this.unlessStopped(producer.room());
      const share = inputBytes === undefined ? undefined : this.inputBytes / Math.max(inputBytes, 1);
      progress.show(producer.lastLine, this.inputBytes, share);
    }
  }

  /** Waits, but not when nothing should be read any more. Throws why. */
  private async unlessStopped<T>(promise: Promise<T>): Promise<T> {
    this.throwIfStopped();
    const result = await this.waiting.for(promise);
    this.throwIfStopped();
    return result as T;
  }

  private throwIfStopped(): void {
    if (this.producer.failure !== undefined) throw this.producer.failure;
    if (this.signal !== undefined) throw new StoppedBySignal(this.signal);
  }

  /**
   * What was read before it stopped is sent, unless a batch was refused, and answers are waited for; after a signal not long, and
   * not beyond the next one. Whatever has no answer then is unknown.
   */
  private async settle(): Promise<void> {
    const { producer, waiting } = this;
    this.isEnding = true;
    const ended = producer.failure === undefined ? producer.finish() : producer.settled();
    const all = ended.then(() => this.offsets?.flush());
    const cancel =
      this.signal === undefined ? undefined : systemTimers.after(CLI_SIGNAL_WAIT_MS, () => waiting.interrupt());
    await waiting.for(all);
    cancel?.();
    producer.halt();
  }

  private tell(text: string): void {
    this.progress.clear();
    this.io.stderr.write(`millrace: ${text}\n`);
  }
}
