// What a producer has taken and not yet settled: how much it is, where it goes, and until when it may stay.

import { AckPolicy } from "../../model/ack-policy.js";
import { holdProcess } from "../../model/clock.js";
import { MillraceError } from "../../model/errors.js";
import { type Offset, partitionId } from "../../model/ids.js";
import { invariant } from "../../model/invariant.js";
import {
  CLIENT_POLL_MS,
  CLIENT_REGION_BYTES_MAX,
  PRODUCE_RETRY_MS_MAX,
  PRODUCE_RETRY_MS_MIN,
  PRODUCER_LOOK_MS_MAX,
  PRODUCER_LOOK_MS_MIN,
  PRODUCER_ROOM_PART,
  TOPIC_NAME_MAX,
} from "../../model/limits.js";
import { ApiKey } from "../../protocol/api-keys.js";
import { LENGTH_BYTES } from "../../protocol/frame.js";
import { produceV2RequestBytes } from "../../protocol/produce.js";
import { Backoff } from "../backoff.js";
import { badTopic } from "../checks.js";
import type { RequestOptions } from "../connection-options.js";
import type { Backend, Link } from "../link.js";
import type { RecordRegion } from "../record-region.js";
import { Window } from "../window.js";
import { Courier } from "./courier.js";
import { Lane, type LaneSettings } from "./lane.js";
import { closedProducer } from "./outcome.js";
import { Route } from "./route.js";
import { hasRecords } from "./same-records.js";
import type { Settings } from "./settings.js";
import { SoleWriter } from "./sole-writer.js";
import { SpareRegions } from "./spare-regions.js";

/** What a request has beside its records, at the most. */
const REQUEST_BYTES_MAX = produceV2RequestBytes("t".repeat(TOPIC_NAME_MAX), 0) - LENGTH_BYTES;

export class Dispatch {
  private readonly window: Window;
  private readonly routes = new Map<string, Route>();
  private readonly courier: Courier;
  private readonly laneSettings: LaneSettings;
  private readonly accumulator: { batchBytes: number; lingerMs: number; timers: Settings["time"] };
  private maxFrameBytes = Number.POSITIVE_INFINITY;
  private cancelLook: (() => void) | undefined;
  private release: (() => void) | undefined;
  /** Why nothing is taken. */
  private refusal: MillraceError | undefined;
  /** Why nothing is taken as long as there is this link: the next broker may know more. */
  private unfit: { readonly link: Link; readonly error: MillraceError } | undefined;

  constructor(
    backend: Backend,
    private readonly settings: Settings,
  ) {
    const { queuedBytesMax, batchBytes, lingerMs, time } = settings;
    this.window = new Window(queuedBytesMax * PRODUCER_ROOM_PART, Number.POSITIVE_INFINITY);
    this.accumulator = { batchBytes, lingerMs, timers: time };
    this.laneSettings = {
      accumulator: this.accumulator,
      batchRecords: settings.batchRecords,
      requestsInFlight: settings.requestsInFlight,
      deliveryTimeoutMs: settings.deliveryTimeoutMs,
      spares: new SpareRegions(),
      timers: time,
      now: () => time.monotonicNow(),
    };
    this.courier = new Courier(backend, settings, this);
  }

  get ack(): AckPolicy {
    return this.settings.ack;
  }

  get link(): Link | undefined {
    return this.courier.link;
  }

  get isWaiting(): boolean {
    return !this.window.isEmpty;
  }

  /** What its requests beside those that carry records are told. */
  get request(): RequestOptions {
    return { timeoutMs: this.settings.requestTimeoutMs };
  }

  /** Until when what comes now may wait. */
  get deadline(): number {
    return this.settings.time.monotonicNow() + this.settings.deliveryTimeoutMs;
  }

  /** The topic's route, or why nothing so large can be taken for it now. */
  admit(topic: string, cost: number): Route | MillraceError {
    if (this.refusal !== undefined) return this.refusal;
    if (this.unfit !== undefined && this.unfit.link === this.link) return this.unfit.error;
    let route = this.routes.get(topic);
    if (route === undefined) {
      const bad = badTopic(topic);
      if (bad !== undefined) return bad;
      route = new Route(topic, this);
    }
    if (this.window.bytesInside >= this.settings.queuedBytesMax) return this.full();
    if (this.window.isEmpty) this.begin();
    this.window.enter(cost);
    this.routes.set(topic, route);
    return route;
  }

  /** Records were settled, or given up. */
  left(cost: number, callers: number): void {
    this.window.leave(cost, callers);
    if (!this.window.isEmpty) return;
    invariant(this.window.bytesInside === 0, "what was taken is given back when it is settled");
    this.release?.();
    this.release = undefined;
  }

  /** How many bytes of records a request for this topic takes, as far as it is known. `isNamed`: it names the offset that they must get. */
  regionBytesMax(topic: string, isNamed: boolean): number {
    const beside = REQUEST_BYTES_MAX - TOPIC_NAME_MAX + topic.length - (isNamed || this.settings.isExclusive ? 0 : 8);
    return Math.min(this.maxFrameBytes - beside, CLIENT_REGION_BYTES_MAX);
  }

  /** Why records that take so many bytes do not fit one. */
  tooLarge(topic: string, regionBytes: number, isNamed: boolean): MillraceError | undefined {
    if (regionBytes <= this.regionBytesMax(topic, isNamed)) return undefined;
    const text = `${regionBytes} bytes of records for ${topic} do not fit a request to ${this.link?.address}, which takes ${this.maxFrameBytes} bytes`;
    return new MillraceError("RECORD_TOO_LARGE", text);
  }

  get hasRoom(): boolean {
    return !this.window.isFull;
  }

  room(): Promise<void> {
    return this.window.room();
  }

  async flush(): Promise<void> {
    await Promise.all([...this.routes.values()].map((route) => route.known()));
    const lanes = [...this.lanes()];
    for (const lane of lanes) lane.close();
    const open = lanes.flatMap(({ batches }) => batches);
    await Promise.all(open.map((batch) => new Promise<void>((resolve) => batch.whenSettled(resolve))));
  }

  async close(): Promise<void> {
    this.refusal ??= closedProducer();
    await this.flush();
    await this.courier.close();
    this.cancelLook?.();
  }

  destroy(): void {
    this.refusal ??= closedProducer();
    this.rejectWaiting(this.refusal, true);
    this.courier.destroy();
    this.cancelLook?.();
  }

  // What lanes, routes and the courier ask for.

  closed(lane: Lane): void {
    this.routes.get(lane.topic)?.closed(lane);
  }

  wake(lane: Lane): void {
    this.courier.wake(lane);
  }

  ask(lane: Lane): void {
    this.routes.get(lane.topic)?.askEnd(lane);
  }

  async compare({ topic, partition }: Lane, offset: number, region: RecordRegion, count: number): Promise<boolean> {
    const { link } = this;
    const format = this.routes.get(topic)?.format;
    if (link === undefined || format === undefined) throw closedProducer();
    return hasRecords(link, { topic, partition, format, offset }, region, count, this.request);
  }

  async endOf({ topic, partition }: Lane): Promise<Offset | undefined> {
    const [found] = (await this.link?.metadata([topic], this.request).catch(() => [])) ?? [];
    const end = found?.partitions.find((each) => each.partition === partition)?.logEndOffset;
    return end === undefined || end < 0 ? undefined : end;
  }

  newLane(topic: string, partition: number): Lane {
    const { settings } = this;
    const backoff = new Backoff(PRODUCE_RETRY_MS_MIN, PRODUCE_RETRY_MS_MAX, settings.random);
    const writer = settings.isExclusive
      ? new SoleWriter(topic, partition, settings.ack === AckPolicy.FORCED)
      : undefined;
    return new Lane(topic, partitionId(partition), this.laneSettings, backoff, this, writer);
  }

  linkFailed(link: Link, error: MillraceError): void {
    this.courier.lost(link, error);
  }

  later(action: () => void): void {
    this.settings.time.after(CLIENT_POLL_MS, action);
  }

  forget(route: Route): void {
    this.routes.delete(route.topic);
  }

  up(link: Link): void {
    this.maxFrameBytes = link.maxFrameBytes;
    this.accumulator.batchBytes = Math.max(
      1,
      Math.min(this.settings.batchBytes, link.maxFrameBytes - REQUEST_BYTES_MAX),
    );
    const unfit = this.settings.isExclusive ? unfitForSoleWriter(link) : undefined;
    if (unfit !== undefined) {
      this.unfit = { link, error: unfit };
      this.rejectWaiting(unfit, false);
      return;
    }
    // There may be more partitions than before.
    for (const route of this.routes.values()) route.ask();
  }

  hopeless(error: MillraceError): void {
    this.rejectWaiting(error, false);
  }

  private *lanes(): Generator<Lane, void> {
    for (const route of this.routes.values()) yield* route.lanes;
  }

  private rejectWaiting(error: MillraceError, isForGood: boolean): void {
    for (const route of this.routes.values()) route.rejectWaiting(error);
    for (const lane of this.lanes()) {
      if (isForGood) lane.poison(error);
      else lane.rejectWaiting(error);
    }
  }

  /** Something waits again. */
  private begin(): void {
    this.release = holdProcess();
    this.courier.want();
    if (this.cancelLook === undefined) this.look();
  }

  private look(): void {
    const { deliveryTimeoutMs, time } = this.settings;
    const everyMs = Math.min(PRODUCER_LOOK_MS_MAX, Math.max(PRODUCER_LOOK_MS_MIN, deliveryTimeoutMs / 8));
    this.cancelLook = time.after(everyMs, () => {
      this.cancelLook = undefined;
      const now = time.monotonicNow();
      const { trouble } = this.courier;
      for (const route of this.routes.values()) route.expire(now, deliveryTimeoutMs, trouble);
      for (const lane of this.lanes()) lane.expire(now, trouble);
      if (this.isWaiting) this.look();
    });
  }

  private full(): MillraceError {
    const text = `${this.settings.queuedBytesMax} bytes of records wait to be acknowledged: await what send returns, or room() before it, or raise queuedBytesMax`;
    return new MillraceError("QUEUE_FULL", text);
  }
}

/** What a broker must know for its log's end to be found out and named. METADATA v1 says where readers may read to, which is not its end. */
function unfitForSoleWriter(link: Link): MillraceError | undefined {
  const missing = [
    ...(link.supports(ApiKey.PRODUCE, 2) ? [] : ["PRODUCE v2"]),
    ...(link.supports(ApiKey.METADATA, 2) ? [] : ["METADATA v2"]),
  ];
  if (missing.length === 0) return undefined;
  const text = `the broker at ${link.address} is too old for a producer that is the only writer: it does not know ${missing.join(" and ")}`;
  return new MillraceError("UNSUPPORTED_VERSION", text);
}
