// Four rounds of a waiting fetch on a log. Each plays one case, looks at what really happened and says so, or says that it
// did not happen: nothing is claimed that was not seen. It prints nothing.

import { setTimeout as sleep } from "node:timers/promises";
import type { Log, LogRead } from "../../log/embedded.js";
import { counted } from "../../model/plural.js";
import { Failed } from "../failure.js";

export interface RoundOptions {
  /** Where the second and the third round read; the fourth goes on from there. */
  readonly fetchOffset: number;
  readonly minRecords: number;
  readonly maxWaitMs: number;
}

/** What was seen in a round. */
export interface Round {
  readonly round: number;
  readonly what: string;
  readonly fetchOffset: number;
  readonly minRecords: number;
  readonly parked: boolean;
  readonly timedOut: boolean;
  readonly bytes: number;
  readonly records: number;
  /** −1, when there were no records. */
  readonly firstOffset: number;
  readonly lastOffset: number;
  readonly waitedMs: number;
  /** Afterwards. */
  readonly logEndOffset: number;
}

export const ROUNDS = 4;

/** What the rounds need of a log. */
export type PlayedLog = Pick<Log, "logStartOffset" | "logEndOffset" | "segments" | "read" | "appendBatch">;

const written = { ack: "written" } as const;

/** Plays the first `steps` rounds and gives each when it has been seen. Throws {@link Failed} when one did not happen. */
export async function* playRounds(log: PlayedLog, steps: number, options: RoundOptions): AsyncGenerator<Round, void> {
  const play = new Play(log, options);
  const rounds = [play.olderSegment, play.nobodyCame, play.producerFirst, play.producerDuring];
  for (const round of rounds.slice(0, steps)) yield await round.call(play);
}

class Play {
  /** Where the next round reads. */
  private next: number;
  private readonly produced = new TextEncoder();

  constructor(
    private readonly log: PlayedLog,
    private readonly options: RoundOptions,
  ) {
    this.next = options.fetchOffset;
  }

  /** A segment that is not the active one is answered with what it has. */
  async olderSegment(): Promise<Round> {
    const from = this.log.logStartOffset;
    const first = this.oldestSegment();
    // One more than there is in the segment: if it waited for that, it would wait for ever.
    const seen = await this.fetch(1, "an older segment never waits", from, first.endOffset - from + 1);
    expect(1, !seen.parked && !seen.timedOut, "it waited for a segment that cannot grow", seen);
    const inside = seen.firstOffset === from && seen.lastOffset < first.endOffset;
    expect(1, inside, `it did not bring records of the segment that ends at ${first.endOffset}`, seen);
    return seen;
  }

  /** At the end, with nobody writing: the time passes, and there is nothing. */
  async nobodyCame(): Promise<Round> {
    const { log, next } = this;
    if (next > log.logEndOffset) {
      throw new Failed(`round 2: --fetch-offset ${next} lies beyond the log, which ends at ${log.logEndOffset}`);
    }
    if (next < log.logEndOffset) throw new Failed(`round 2: ${this.wasThere(log.logEndOffset)}`, [FRESH]);
    const seen = await this.fetch(2, "nobody came: it waits and times out", next, this.options.minRecords);
    expect(2, seen.records === 0 && seen.bytes === 0, "what it was to wait for was already there", seen);
    expect(2, seen.parked && seen.timedOut, "it did not wait for its time to be over", seen);
    return seen;
  }

  /** The records are there before the fetch. */
  async producerFirst(): Promise<Round> {
    const from = this.next;
    const count = this.options.minRecords + 1;
    await this.produce(count);
    const seen = await this.fetch(3, "the producer came first", from, this.options.minRecords);
    expect(3, !seen.parked && !seen.timedOut, "it waited for what was there", seen);
    expect(3, seen.records === count, `${counted(count, "record")} had been written`, seen);
    this.next = from + count;
    return seen;
  }

  /** The records come while it waits. */
  async producerDuring(): Promise<Round> {
    const { minRecords, maxWaitMs } = this.options;
    const from = this.next;
    expect(4, this.log.logEndOffset === from, `the log does not end at ${from}`, undefined);
    const fetching = this.fetch(4, "the producer comes during the wait", from, minRecords);
    const producing = sleep(maxWaitMs / 4).then(() => this.produce(minRecords));
    const [seen] = await Promise.all([fetching, producing]);
    expect(4, seen.parked && !seen.timedOut, "it was not woken by the producer", seen);
    expect(4, seen.records === minRecords, `${counted(minRecords, "record")} had been written`, seen);
    return { ...seen, logEndOffset: this.log.logEndOffset };
  }

  private oldestSegment() {
    const [first, ...others] = this.log.segments();
    if (first !== undefined && others.length > 0) return first;
    throw new Failed(
      `round 1: the log did not roll: all of it, ${this.log.logStartOffset} to ${this.log.logEndOffset}, lies in one segment, the active one`,
      [FRESH],
    );
  }

  private async produce(count: number): Promise<void> {
    const from = this.log.logEndOffset;
    const records = Array.from({ length: count }, (_, i) => this.produced.encode(`record ${from + i}`));
    await this.log.appendBatch(records, written);
  }

  private async fetch(round: number, what: string, from: number, minRecords: number): Promise<Round> {
    const begun = performance.now();
    const read = await this.log.read(from, { minRecords, maxWaitMs: this.options.maxWaitMs });
    const waitedMs = performance.now() - begun;
    const asked = { round, what, fetchOffset: from, minRecords };
    return { ...asked, ...factsOf(read), waitedMs, logEndOffset: this.log.logEndOffset };
  }

  private wasThere(end: number): string {
    return `what it was to wait for was already there: the log has records from ${this.options.fetchOffset} to ${end - 1}`;
  }
}

const FRESH = "an empty --dir is filled with seven records in segments at 0, 3 and 6, and ends at 7";

function factsOf({ parked, timedOut, bytes, records }: LogRead) {
  const firstOffset = records[0]?.offset ?? -1;
  const lastOffset = records.at(-1)?.offset ?? -1;
  return { parked, timedOut, bytes, records: records.length, firstOffset, lastOffset };
}

/** Throws unless the round was as it is told. */
function expect(round: number, happened: boolean, otherwise: string, seen: Round | undefined): void {
  if (happened) return;
  throw new Failed(`round ${round}: ${otherwise}`, seen === undefined ? [] : [`seen: ${roundText(seen)}`]);
}

const yesNo = (fact: boolean): string => (fact ? "yes" : "no");

/** For people, without the round's number and name. */
export function roundText(seen: Round): string {
  const { parked, timedOut, bytes, records, firstOffset, lastOffset, fetchOffset, minRecords } = seen;
  return [
    `from ${fetchOffset}, at least ${counted(minRecords, "record")}`,
    `parked ${yesNo(parked)}`,
    `timed out ${yesNo(timedOut)}`,
    counted(bytes, "byte"),
    counted(records, "record"),
    records === 0 ? "offsets none" : `offsets ${firstOffset} to ${lastOffset}`,
    `log end ${seen.logEndOffset}`,
    `${seen.waitedMs.toFixed(1)} ms`,
  ].join(", ");
}
