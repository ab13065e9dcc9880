// Tells the operator when the broker takes less than it is offered: when reading from connections stops because of
// queued.bytes.max, when connections are closed so that it goes on, when no connection is accepted, and when that is over. The
// selector counts; this looks once a second and says it once in a while, because under a load that is too high it happens
// thousands of times.

import type { OperatorLog } from "../broker/options.js";
import { PAUSE_LOG_MS } from "../model/limits.js";
import { SelectorCounter } from "../native/binding.js";

interface Told {
  readonly paused: string;
  readonly resumed: string;
  readonly counter: number;
  readonly sentence: string;
  readonly over: string;
}

const TOLD: readonly Told[] = [
  {
    paused: "connections.paused",
    resumed: "connections.resumed",
    counter: SelectorCounter.PAUSES,
    sentence: "connections were not read for a while: requests and answers in memory had come to queued.bytes.max",
    over: "connections are read as they come again",
  },
  {
    paused: "listener.paused",
    resumed: "listener.resumed",
    counter: SelectorCounter.LISTENER_PAUSES,
    sentence: "no connection was accepted for a while: there are connections.max of them, or descriptors have run out",
    over: "connections are accepted as they come again",
  },
];

/** The share of a bound below which the selector reads again (`kResumeBelow`). */
const RESUMES_BELOW = 3 / 4;
/** What gathered frames may take of `queued.bytes.max` (`kGatherShare`). */
const GATHER_SHARE = 3 / 4;

export class PauseWatch {
  /** What was counted when it was last told, by place in {@link TOLD}. */
  private readonly told = TOLD.map(() => 0);
  private readonly seen = TOLD.map(() => 0);
  /** When a pause was last seen, and told; undefined: it is over. */
  private readonly seenAt: (number | undefined)[] = TOLD.map(() => undefined);
  private readonly toldAt: number[] = TOLD.map(() => Number.NEGATIVE_INFINITY);
  private shedTold = 0;
  private shedToldAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly counters: Float64Array,
    private readonly log: OperatorLog,
    /** Milliseconds on a clock that never goes back. */
    private readonly now: () => number,
    private readonly connectionsMax: number,
    private readonly queuedBytesMax: number,
  ) {}

  look(): void {
    for (let i = 0; i < TOLD.length; i++) this.lookAt(i, TOLD[i]);
    this.lookAtShed();
  }

  /** Each is an end and no state, so there is nothing to tell when it is over. */
  private lookAtShed(): void {
    const now = this.now();
    const times = this.counters[SelectorCounter.SHED] - this.shedTold;
    if (times === 0 || now - this.shedToldAt < PAUSE_LOG_MS) return;
    const connections = this.counters[SelectorCounter.CONNECTIONS];
    const sentence =
      "connections were closed whose clients take no answers: what was held for them had come to queued.bytes.max";
    this.log.warn({ kind: "connections.shed", times, connections }, sentence);
    this.shedTold += times;
    this.shedToldAt = now;
  }

  private lookAt(i: number, { paused, resumed, counter, sentence, over }: Told): void {
    const now = this.now();
    const count = this.counters[counter];
    const connections = this.counters[SelectorCounter.CONNECTIONS];
    // A pause is counted once, however long it lasts.
    const goesOn =
      counter === SelectorCounter.LISTENER_PAUSES
        ? count > 0 && connections >= this.connectionsMax
        : this.seenAt[i] !== undefined && this.isCrowded();
    if (count > this.seen[i] || goesOn) {
      this.seen[i] = count;
      this.seenAt[i] = now;
    }
    const since = this.seenAt[i];
    if (since === undefined) return;
    if (count > this.told[i] && now - this.toldAt[i] >= PAUSE_LOG_MS) {
      this.log.warn({ kind: paused, times: count - this.told[i], connections }, sentence);
      this.told[i] = count;
      this.toldAt[i] = now;
    } else if (now - since >= PAUSE_LOG_MS) {
      this.log.info({ kind: resumed, connections }, over);
      this.seenAt[i] = undefined;
    }
  }

  /** Above where the selector reads again: of all that is queued, or of what frames may take that are being gathered. */
  private isCrowded(): boolean {
    const { counters, queuedBytesMax } = this;
    const gathered = counters[SelectorCounter.GATHERED_BYTES];
    const others = counters[SelectorCounter.EXTERNAL_QUEUED_BYTES] + counters[SelectorCounter.OUTPUT_BYTES];
    return (
      gathered + others >= queuedBytesMax * RESUMES_BELOW || gathered >= queuedBytesMax * GATHER_SHARE * RESUMES_BELOW
    );
  }
}
