// A topic that is sent to: how many partitions it has, which one a record goes to, and the calls that came before that was known.
// They wait all of them, also those that name a partition: else these would overtake the others.

import { MillraceError } from "../../model/errors.js";
import type { RecordFormat } from "../../model/record-format.js";
import type { TopicMetadata } from "../../protocol/metadata.js";
import type { RequestOptions } from "../connection-options.js";
import { BrokerError, unknownPartition, unknownTopic } from "../errors.js";
import type { Link } from "../link.js";
import { partitionOfKey, RoundRobin } from "../partitioner.js";
import type { Lane } from "./lane.js";
import { asMillraceError, deliveryTimeout } from "./outcome.js";
import type { Payload } from "./producer-options.js";

/** A call whose topic was not known when it came. */
interface Waiting {
  readonly deadline: number;
  readonly cost: number;
  readonly reject: (reason: unknown) => void;
  /** Does what the call does when the topic is known. */
  run(): void;
}

export interface RouteOwner {
  readonly link: Link | undefined;
  /** What its requests are told. */
  readonly request: RequestOptions;
  newLane(topic: string, partition: number): Lane;
  /** The answer says that the link is of no use. */
  linkFailed(link: Link, error: MillraceError): void;
  /** Calls back after a pause. */
  later(action: () => void): void;
  left(cost: number, callers: number): void;
  /** The topic is not there. */
  forget(route: Route): void;
}

export class Route {
  /** How the topic's records are stored. */
  format: RecordFormat | undefined;
  private partitions = 0;
  private readonly lanesByPartition = new Map<number, Lane>();
  private turn = new RoundRobin(1);
  private waiting: Waiting[] = [];
  /** Those that want to know where their log ends. */
  private askers = new Set<Lane>();
  private askedOver: Link | undefined;
  private isWanted = false;
  private onKnown: (() => void)[] = [];

  constructor(
    readonly topic: string,
    private readonly owner: RouteOwner,
  ) {}

  get isKnown(): boolean {
    return this.partitions > 0;
  }

  get hasWaiting(): boolean {
    return this.waiting.length > 0;
  }

  get lanes(): Iterable<Lane> {
    return this.lanesByPartition.values();
  }

  /** The lane of a partition, or why there is none. */
  lane(partition: number): Lane | MillraceError {
    const lane = this.lanesByPartition.get(partition);
    if (lane !== undefined) return lane;
    if (partition >= this.partitions) return unknownPartition(this.topic, partition);
    const made = this.owner.newLane(this.topic, partition);
    this.lanesByPartition.set(partition, made);
    return made;
  }

  /** Where the next record goes. */
  choose(key: Payload | undefined): number {
    return key === undefined ? this.turn.current : partitionOfKey(key, this.partitions);
  }

  /** A lane's batch was closed: if it was its turn, it is the next one's. */
  closed(lane: Lane): void {
    if (lane.partition === this.turn.current) this.turn.advance();
  }

  /** Makes the call when the topic is known. */
  wait<T>(deadline: number, cost: number, call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.push({ deadline, cost, reject, run: () => resolve(call()) });
    });
  }

  private push(call: Waiting): void {
    this.waiting.push(call);
    if (this.askedOver === undefined || this.askedOver !== this.owner.link) this.ask();
  }

  /** Resolves when nobody waits for the topic to be known. */
  known(): Promise<void> {
    if (!this.hasWaiting) return Promise.resolve();
    return new Promise((resolve) => this.onKnown.push(resolve));
  }

  /** Asks for a lane's log end; the answer is to a question from now on. */
  askEnd(lane: Lane): void {
    this.askers.add(lane);
    this.ask();
  }

  /** Asks about the topic, unless a question is out that was asked after everybody wanted to know. */
  ask(): void {
    const { link } = this.owner;
    if (link === undefined) return;
    if (this.askedOver === link) {
      this.isWanted = true;
      return;
    }
    this.askedOver = link;
    this.isWanted = false;
    const askers = this.askers;
    this.askers = new Set();
    link.metadata([this.topic], this.owner.request).then(
      ([topic]) => this.answered(link, askers, topic),
      (error: unknown) => this.failed(link, askers, asMillraceError(error)),
    );
  }

  expire(now: number, timeoutMs: number, trouble: MillraceError | undefined): void {
    while (this.waiting.length > 0 && this.waiting[0].deadline <= now) {
      const [call] = this.waiting.splice(0, 1);
      this.reject(call, deliveryTimeout(this.topic, timeoutMs, trouble));
    }
    this.tellKnown();
  }

  /** Rejects the calls that wait. */
  rejectWaiting(error: MillraceError): void {
    for (const call of this.waiting.splice(0)) this.reject(call, error);
    this.tellKnown();
  }

  private answered(link: Link, askers: ReadonlySet<Lane>, topic: TopicMetadata | undefined): void {
    if (this.askedOver === link) this.askedOver = undefined;
    const count = topic?.partitions.length ?? 0;
    if (topic === undefined || count === 0) {
      this.failed(link, askers, unknownTopic(this.topic));
      return;
    }
    this.format = topic.recordFormat;
    if (count !== this.partitions) {
      this.partitions = count;
      this.turn = new RoundRobin(count);
    }
    for (const lane of askers) {
      const ends = topic.partitions.find(({ partition }) => partition === lane.partition);
      if (ends !== undefined && ends.logEndOffset >= 0) lane.found(ends);
      else lane.poison(new MillraceError("STORAGE_FAILURE", `${this.topic}-${lane.partition} is not open`));
    }
    for (const call of this.waiting.splice(0)) call.run();
    this.tellKnown();
    if (this.isWanted) this.ask();
  }

  private failed(link: Link, askers: ReadonlySet<Lane>, error: MillraceError): void {
    if (this.askedOver === link) this.askedOver = undefined;
    if (error.code === "UNKNOWN_TOPIC_OR_PARTITION" || (error instanceof BrokerError && !error.retriable)) {
      this.rejectWaiting(error);
      for (const lane of askers) {
        lane.rejectWaiting(error);
        lane.found(undefined);
      }
      if (this.lanesByPartition.size === 0) this.owner.forget(this);
      if (this.isWanted) this.ask();
      return;
    }
    for (const lane of askers) this.askers.add(lane);
    if (error instanceof BrokerError) this.owner.later(() => this.ask());
    else this.owner.linkFailed(link, error);
  }

  private reject(call: Waiting, error: MillraceError): void {
    this.owner.left(call.cost, 1);
    call.reject(error);
  }

  private tellKnown(): void {
    if (this.hasWaiting) return;
    for (const resolve of this.onKnown.splice(0)) resolve();
  }
}
