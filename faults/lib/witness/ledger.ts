// What one partition was sent, what was promised of it and what was seen. It judges what a later start makes of that.
//
// A single writer names the offset of each batch (PRODUCE v2), so the bytes of a record follow from its offset and from the round in
// which it was sent: what a cut took away comes back with other bytes under the same offset, and nothing old can pass for it.

export type RecordFormat = "plain" | "crc32c";

export interface LedgerTopic {
  readonly topic: string;
  readonly partition: number;
  readonly format: RecordFormat;
  /** Consumers see only what is durable. */
  readonly durable: boolean;
  /** Retention leaves at least so many bytes. Undefined: it takes nothing. */
  readonly keptBytes?: number;
  /** The most that a usual record has. */
  readonly recordBytes: number;
  /** One in 64 has up to so many times as much. */
  readonly largeTimes: number;
}

/** As METADATA v2 has it. */
export interface Told {
  readonly epoch: number;
  readonly logStart: number;
  readonly highWatermark: number;
  readonly durable: number;
  readonly logEnd: number;
}

export interface Verdict {
  readonly wrong: readonly string[];
  /** Records that were promised and are gone. */
  readonly lost: number;
}

interface Piece {
  readonly from: number;
  readonly round: number;
}

const POOL_BYTES = 1 << 16;
const HEAD_BYTES = 16;
const pool = filled(POOL_BYTES * 2);

export class Ledger {
  /** Where the next record goes. */
  sent = 0;
  /** Behind the last record that may be there. */
  sentMost = 0;
  /** Promised to survive a cut of power: acknowledged as FORCED, or named as durable. */
  forced = 0;
  /** Promised to survive the death of the process. */
  written = 0;
  /** Behind the last record that a consumer may have seen. */
  shown = 0;
  /** Records that were acknowledged, in all. */
  acknowledged = 0;
  /** Batches that were refused and may be sent again, in all. */
  refused = 0;
  /** STORAGE_FAILURE was answered since the last start. */
  failed = false;
  logStart = 0;
  epoch = 0;
  #pieces: Piece[] = [{ from: 0, round: 0 }];
  /** In `plain` a record that nobody forced may come back with other bytes. */
  #dubious: { readonly from: number; readonly to: number }[] = [];

  constructor(
    readonly at: LedgerTopic,
    readonly salt: number,
  ) {}

  copy(): Ledger {
    const { sent, sentMost, forced, written, shown, acknowledged, logStart, epoch } = this;
    const all = { sent, sentMost, forced, written, shown, acknowledged, logStart, epoch };
    const copy = Object.assign(new Ledger(this.at, this.salt), all);
    copy.#pieces = [...this.#pieces];
    copy.#dubious = [...this.#dubious];
    return copy;
  }

  get name(): string {
    return `${this.at.topic}-${this.at.partition}`;
  }

  payload(offset: number): Uint8Array {
    return payloadOf(this.#mixed(offset), offset, this.#roundOf(offset), this.at);
  }

  /** Why these are not the record's bytes, or undefined. */
  differs(offset: number, bytes: Uint8Array): string | undefined {
    if (this.at.format === "plain" && this.#dubious.some(({ from, to }) => from <= offset && offset < to))
      return undefined;
    const mine = this.payload(offset);
    if (Buffer.compare(mine, bytes) === 0) return undefined;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const what = bytes.length < HEAD_BYTES ? "" : `, says offset ${view.getFloat64(0)} of round ${view.getInt32(8)}`;
    return `${this.name}: record ${offset} of round ${this.#roundOf(offset)} is another: ${bytes.length} bytes instead of ${mine.length}${what}`;
  }

  /** A start has recovered what there was. `process`: only the process had died, so what was acknowledged as WRITTEN is there, too. */
  recovered(told: Told, died: "power" | "process"): Verdict {
    const wrong: string[] = [];
    const { name } = this;
    const { logEnd, logStart, highWatermark, durable, epoch } = told;
    const expect = (holds: boolean, what: string): void => {
      if (!holds) wrong.push(`${name}: ${what} (${JSON.stringify({ told, ledger: this.shownState() })})`);
    };
    if (epoch < 0) {
      return {
        wrong: [`${name}: the partition does not open (${JSON.stringify(this.shownState())})`],
        lost: this.forced,
      };
    }
    const promised = died === "power" ? this.forced : Math.max(this.forced, this.written);
    expect(logEnd >= promised, "records that were acknowledged are gone");
    expect(highWatermark >= promised, "the high watermark is below what was acknowledged");
    expect(highWatermark <= logEnd && durable <= logEnd && logStart <= logEnd, "its offsets contradict each other");
    expect(logEnd <= this.sentMost, "records are there that nobody sent");
    expect(logStart >= this.logStart, "the log start went back");
    const { keptBytes = Number.POSITIVE_INFINITY } = this.at;
    expect(logStart === 0 || this.#bytes(logStart, this.sentMost) >= keptBytes, "retention took more than it may");
    expect(epoch >= this.epoch, "the epoch went back");
    if (this.at.durable) expect(logEnd >= this.shown, "a consumer that sees only what is durable saw what is gone");
    else
      expect(logEnd >= this.shown || epoch > this.epoch, "records that were seen are gone, and the epoch says nothing");
    this.#begin(told);
    return { wrong, lost: Math.max(0, promised - logEnd) };
  }

  #begin({ logEnd, logStart, epoch }: Told): void {
    if (this.forced < logEnd) this.#dubious.push({ from: this.forced, to: logEnd });
    this.#dubious = this.#dubious.filter(({ to }) => to > logStart);
    const { round } = this.#pieces[this.#pieces.length - 1];
    this.#pieces = this.#pieces.filter(({ from }) => from < logEnd);
    this.#pieces.push({ from: logEnd, round: round + 1 });
    // Forced by the recovery: it will not go any more.
    this.sent = this.sentMost = this.forced = this.written = this.shown = logEnd;
    this.logStart = logStart;
    this.epoch = epoch;
    this.failed = false;
  }

  /** What a running broker says of it. */
  heard({ epoch, logStart, durable, highWatermark }: Told): void {
    if (epoch < 0) return;
    this.forced = Math.max(this.forced, durable);
    this.shown = Math.max(this.shown, highWatermark);
    this.logStart = Math.max(this.logStart, logStart);
  }

  shownState(): Readonly<Record<string, number>> {
    const { sent, sentMost, forced, written, shown, logStart, epoch } = this;
    return { sent, sentMost, forced, written, shown, logStart, epoch, round: this.#roundOf(sent) };
  }

  /** As they are stored, or a little less. */
  #bytes(from: number, to: number): number {
    let bytes = 0;
    for (let offset = from; offset < to; offset++) bytes += lengthOf(this.#mixed(offset), this.at) + 4;
    return bytes;
  }

  #roundOf(offset: number): number {
    let at = this.#pieces.length - 1;
    while (at > 0 && this.#pieces[at].from > offset) at--;
    return this.#pieces[at].round;
  }

  #mixed(offset: number): number {
    let mixed = Math.imul(offset ^ this.salt, 0x9e3779b1) ^ Math.imul(this.#roundOf(offset) + 1, 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
    return (mixed ^ (mixed >>> 13)) >>> 0;
  }
}

function lengthOf(mixed: number, { recordBytes, largeTimes }: LedgerTopic): number {
  const large = mixed % 64 === 0 ? largeTimes : 1;
  return HEAD_BYTES + 1 + ((mixed >>> 8) % (recordBytes * large));
}

function payloadOf(mixed: number, offset: number, round: number, topic: LedgerTopic): Uint8Array {
  const length = lengthOf(mixed, topic);
  const bytes = Buffer.allocUnsafe(length);
  bytes.writeDoubleBE(offset, 0);
  bytes.writeInt32BE(round, 8);
  bytes.writeUInt32BE(mixed, 12);
  for (let at = HEAD_BYTES; at < length; ) {
    const from = (mixed + at) % POOL_BYTES;
    at += pool.copy(bytes, at, from, Math.min(from + length - at, pool.length));
  }
  return bytes;
}

function filled(bytes: number): Buffer {
  const result = Buffer.alloc(bytes);
  let state = 0x12345678;
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    result[at] = state >>> 16;
  }
  return result;
}
