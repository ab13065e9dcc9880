// The turn: frames that have arrived become requests, the scheduler writes what they bring, and everything that is settled
// then leaves in one flush. What is settled later (a barrier, a read of the disk) marks its session, and all of these are
// answered together when the event loop comes round. It touches no file and knows no record.

import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { Broker } from "../broker/broker.js";
import type { OperatorLog } from "../broker/options.js";
import type { AppendListener } from "../log/append-listener.js";
import type { WaitingFetch } from "../log/waiting/waiting-fetch.js";
import { systemTimers } from "../model/clock.js";
import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { invariant } from "../model/invariant.js";
import {
  ARENA_TURN_BYTES,
  CONNECTION_EVENTS,
  FRAME_ROWS,
  OUTPUT_SHARE,
  STOP_GRACE_MS_MAX,
  STOP_LINGER_MS,
} from "../model/limits.js";
import {
  CloseReason,
  FRAME_COLUMNS,
  FrameColumn,
  type NativeSelector,
  native,
  SELECTOR_COUNTERS,
  SelectorCounter,
} from "../native/binding.js";
import { SUPPORTED_VERSIONS } from "../protocol/api-keys.js";
import { LENGTH_BYTES } from "../protocol/frame.js";
import { AnswerOutcome, Answers } from "./answers.js";
import { KeptFetches } from "./kept-fetches.js";
import { stampOf } from "./latency-runs.js";
import type { ServerOptions } from "./options.js";
import { PauseWatch } from "./pause-watch.js";
import { PutOffs } from "./put-offs.js";
import { ReplySender } from "./reply-sender.js";
import { ReplySlots } from "./reply-slots.js";
import { Requests } from "./requests.js";
import { selectorOptions } from "./selector-options.js";
import { Session } from "./session.js";
import { allAnswered, producersLeft } from "./stop-waits.js";
import { UnreadableFiles } from "./unreadable-files.js";

/** A connection's id is its slot below its generation. */
const SLOT_MASK = 0xf_ffff;
const SWEEP_MS = 1_000;

export class Server implements AppendListener {
  readonly counters = new Float64Array(SELECTOR_COUNTERS);
  private readonly selector: NativeSelector;
  private readonly slots: ReplySlots;
  private readonly sender = new ReplySender();
  private readonly requests: Requests;
  private readonly answers: Answers;
  private readonly frames = new Int32Array(FRAME_ROWS * FRAME_COLUMNS);
  private readonly opened = new Int32Array(CONNECTION_EVENTS);
  private readonly closed = new Int32Array(CONNECTION_EVENTS * 2);
  private readonly sessions: (Session | undefined)[] = [];
  private dirty: Session[] = [];
  private spare: Session[] = [];
  private inTurn = false;
  private announced = false;
  private readonly putOffs = new PutOffs(systemTimers, (session) => this.settled(session.connection));
  private readonly unreadable: UnreadableFiles;
  private fileFailuresSeen = 0;
  private sweeper: NodeJS.Timeout | undefined;
  private listeningPort = 0;

  constructor(
    private readonly broker: Broker,
    private readonly options: ServerOptions,
    private readonly log: OperatorLog,
  ) {
    const arena = new Uint8Array(options.maxFrameBytes + LENGTH_BYTES + ARENA_TURN_BYTES);
    // Half of what may be queued, so that waiting readers alone never keep the producers from being read that end their waits.
    this.slots = new ReplySlots(new KeptFetches(options.connectionQueuedBytesMax, options.queuedBytesMax / 2));
    this.requests = new Requests(arena, this.slots, broker, this);
    this.unreadable = new UnreadableFiles(log, broker.waits.now);
    this.answers = new Answers(this.slots, this.sender, broker, {
      hello: {
        brokerName: options.brokerName,
        brokerVersion: options.brokerVersion,
        maxFrameBytes: options.maxFrameBytes,
        maxFetchWaitMillis: broker.options.fetchMaxWaitMs,
        versions: SUPPORTED_VERSIONS,
      },
      owed: (connection) => this.selector.queuedBytes(connection),
      owedMax: options.connectionQueuedBytesMax,
      crowded: () => this.counters[SelectorCounter.OUTPUT_BYTES] > options.queuedBytesMax * OUTPUT_SHARE,
      isUnreadable: (file) => this.unreadable.has(file),
      loaded: (slot, error) => this.settled(this.slots.loaded(slot, error)),
      listed: (slot, offset, timestampMs) => this.settled(this.slots.listed(slot, offset, timestampMs)),
    });
    this.selector = new native.Selector(
      selectorOptions(options, {
        arena,
        replies: this.sender.arena,
        frames: this.frames,
        opened: this.opened,
        closed: this.closed,
        flushes: this.sender.rows,
        counters: this.counters,
      }),
      (frames, opened, closed) => this.turn(frames, opened, closed),
    );
    this.sender.attach(this.selector);
    broker.scheduler.onWork = () => this.soon();
    broker.waits.onWork = () => {
      // A turn wakes at its end in any case.
      if (!this.inTurn) this.soon();
    };
    broker.waits.onCompleted = (fetch) => this.waited(fetch);
  }

  get port(): number {
    return this.listeningPort;
  }

  async listen(): Promise<void> {
    const { host, port } = this.options;
    const address = isIP(host) === 0 ? (await lookup(host)).address : host;
    this.listeningPort = this.selector.listen(address, port);
    const { connectionsMax, queuedBytesMax } = this.options;
    const pauses = new PauseWatch(this.counters, this.log, this.broker.waits.now, connectionsMax, queuedBytesMax);
    this.sweeper = setInterval(() => {
      this.selector.sweep();
      pauses.look();
    }, SWEEP_MS);
  }

  /** Beside that, where it is to. */
  listenUnix(): void {
    const { socketPath } = this.options;
    if (socketPath !== undefined) this.selector.listenUnix(socketPath);
  }

  /**
   * Takes no connection and no request any more, sees to it that everything taken before is forced and answered, and ends
   * the connections so that no client loses its last answer.
   */
  async stop(): Promise<void> {
    this.selector.stopListening();
    this.requests.stopping = true;
    // Answered before anything is forced: a reader is not kept by a disk that takes its time.
    this.broker.waits.purgatory.releaseAll();
    this.lateTurn();
    await this.broker.drain();
    // A peer that takes nothing must not keep the log from being closed in time.
    const deadline = performance.now() + this.options.stopSendMs;
    // What the barriers settled is answered here at the latest: `finish` sends what is queued and reads nothing more.
    // Half of the time for answers that were put off, so that there is some left to end the others' connections in order.
    const taken = {
      answer: this.lateTurn,
      isDue: () => this.slots.underWay > 0 || this.dirty.length > 0,
      isPutOff: () => this.putOffs.count > 0,
    };
    await allAnswered(taken, deadline - this.options.stopSendMs / 2);
    const graceMs = Math.min(STOP_GRACE_MS_MAX, (deadline - performance.now()) / 2);
    await producersLeft(this.sessions, this.broker.waits.now, graceMs);
    const finished = this.selector.finish(STOP_LINGER_MS);
    const left = Math.max(0, deadline - performance.now());
    await Promise.race([finished, setTimeout(left, undefined, { ref: false })]);
    this.destroy();
  }

  /** Lets go of everything at once. */
  destroy(): void {
    clearInterval(this.sweeper);
    this.selector.destroy();
  }

  /** How a batch ended whose producer waits; the token is its slot. */
  appended(slot: number, error: ErrorCode, baseOffset: number, logEndOffset: number): void {
    if (error !== ErrorCodes.NONE) this.broker.counters.fail(error);
    this.settled(this.slots.settle(slot, error, baseOffset, logEndOffset));
  }

  /** The wait of a fetch is over; the token is its slot. */
  private waited({ token }: WaitingFetch): void {
    const connection = this.slots.woken(token);
    const session = this.sessions[connection & SLOT_MASK];
    invariant(session?.connection === connection, "who is gone does not wait");
    session.waiting = undefined;
    this.settled(connection);
  }

  /** A request of this connection (negative: it is gone) may be answered now. */
  private settled(connection: number): void {
    if (connection < 0) return;
    const session = this.sessions[connection & SLOT_MASK];
    if (session === undefined || session.connection !== connection) return;
    this.touch(session);
    if (!this.inTurn) this.soon();
  }

  private touch(session: Session): void {
    if (session.dirty) return;
    session.dirty = true;
    this.dirty.push(session);
  }

  /** Called by the selector. Frames lie in the arena until this returns. */
  private turn(frames: number, opened: number, closed: number): void {
    this.inTurn = true;
    for (let i = 0; i < opened; i++) this.open(this.opened[i]);
    const table = this.frames;
    if (frames > 0) this.slots.turnStamp = stampOf(this.broker.waits.now());
    let session: Session | undefined;
    for (let i = 0, at = 0; i < frames; i++, at += FRAME_COLUMNS) {
      const connection = table[at + FrameColumn.CONNECTION];
      if (session === undefined || session.connection !== connection) {
        session = this.sessions[connection & SLOT_MASK];
        if (session === undefined || session.connection !== connection) continue;
        this.touch(session);
      }
      this.requests.take(session, table[at + FrameColumn.OFFSET], table[at + FrameColumn.LENGTH]);
    }
    // After the frames: what a peer sent before it went away is carried out.
    for (let i = 0; i < closed; i++) {
      const connection = this.closed[i * 2];
      const reason = this.closed[i * 2 + 1];
      if (reason === CloseReason.INPUT_ENDED) {
        this.endWaits(connection);
      } else {
        this.close(connection);
      }
    }
    this.finishTurn();
  }

  /** The part of a turn that needs no frames: for outcomes that come between two turns. */
  private readonly lateTurn = (): void => {
    this.announced = false;
    this.inTurn = true;
    this.finishTurn();
  };

  private finishTurn(): void {
    this.broker.scheduler.run();
    // Before what is planned now, which may find the same segment.
    this.lookForFileFailures();
    // After all that was written, so that it is planned once for all of it.
    const moreToWake = this.broker.waits.wake();
    this.flush();
    this.lookForFileFailures();
    this.inTurn = false;
    if (this.dirty.length > 0 || moreToWake) this.soon();
  }

  private flush(): void {
    const { dirty } = this;
    this.dirty = this.spare;
    this.spare = dirty;
    if (dirty.length > 0) this.answers.begin(this.broker.waits.now());
    let served = 0;
    for (let i = 0; i < dirty.length; i++) {
      const session = dirty[i];
      session.dirty = false;
      const outcome = this.answers.answer(session);
      if (outcome === AnswerOutcome.LATER) this.touch(session);
      else if (outcome === AnswerOutcome.PUT_OFF) this.putOffs.add(session);
      else if (outcome === AnswerOutcome.SERVED) dirty[served++] = session;
    }
    this.answers.end();
    // Behind those who had nothing.
    for (let i = 0; i < served; i++) this.touch(dirty[i]);
    dirty.length = 0;
    // Before the flush, which looks at it: sockets that were paused because of what was held until now are read at once.
    const { counters, slots } = this;
    const held = this.broker.scheduler.queuedBytes + slots.heldBytes;
    const isLess =
      held < counters[SelectorCounter.EXTERNAL_QUEUED_BYTES] ||
      slots.waitingBytes > counters[SelectorCounter.EXTERNAL_WAITING_BYTES];
    counters[SelectorCounter.EXTERNAL_QUEUED_BYTES] = held;
    counters[SelectorCounter.EXTERNAL_WAITING_BYTES] = slots.waitingBytes;
    // What nobody waits for is written without an answer, and nothing else would tell the selector.
    if (!this.sender.send() && isLess) this.selector.wake();
  }

  /** Once for all that is settled until the event loop comes round. */
  private soon(): void {
    if (this.announced) return;
    this.announced = true;
    setImmediate(this.lateTurn);
  }

  private open(connection: number): void {
    const before = this.sessions[connection & SLOT_MASK];
    if (before !== undefined) this.close(before.connection);
    this.sessions[connection & SLOT_MASK] = new Session(connection);
  }

  private close(connection: number): void {
    const session = this.sessions[connection & SLOT_MASK];
    if (session === undefined || session.connection !== connection) return;
    this.sessions[connection & SLOT_MASK] = undefined;
    if (session.waiting !== undefined) this.broker.waits.purgatory.cancel(session.waiting);
    this.slots.abandon(session);
  }

  /** The peer may be gone: what it asked for is answered at once, which shows it and frees its connection. */
  private endWaits(connection: number): void {
    const session = this.sessions[connection & SLOT_MASK];
    if (session === undefined || session.connection !== connection) return;
    session.inputEnded = true;
    if (session.waiting !== undefined) this.broker.waits.purgatory.release(session.waiting);
  }

  /** The selector has answered for them already, or closed. */
  private lookForFileFailures(): void {
    const count = this.counters[SelectorCounter.FILE_FAILURES];
    if (count === this.fileFailuresSeen) return;
    this.fileFailuresSeen = count;
    for (const failure of this.selector.takeFileFailures()) {
      this.unreadable.add(failure);
      if (!failure.closes) this.broker.counters.fail(ErrorCodes.STORAGE_FAILURE);
    }
  }
}
