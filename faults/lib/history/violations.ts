// What a history can show to be wrong. Each rule has a name, so that a test can say which one it means.

export type Rule =
  /** Acknowledged, and not there at the end. A loss. */
  | "acknowledged-lost"
  /** A consumer saw it, and it is not there at the end. */
  | "visible-lost"
  /** At an offset where one record was acknowledged or seen there is another. */
  | "offset-reused"
  /** Bytes that nobody sent. */
  | "invented"
  /** The broker said that it had not written it, and it is there. */
  | "refused-but-there"
  /** A record is there more often than it was sent. */
  | "twice"
  /** Records of one producer are not in the order in which they were sent. */
  | "order"
  /** A batch does not lie in one piece. */
  | "torn-batch"
  /** An answer begins or goes on elsewhere than it must. */
  | "gap"
  /** What was acknowledged or seen before is above the high watermark. */
  | "watermark"
  /** The log starts earlier than it did, or later without retention. */
  | "log-start"
  /** An answer contradicts itself. */
  | "answer"
  /** The epoch went back, or a reader was told of a loss that must not be. */
  | "epoch";

export interface Violation {
  readonly rule: Rule;
  readonly what: string;
}

/** So many are kept: a broken log breaks everything behind it. */
const KEPT = 50;

export class Violations {
  readonly kept: Violation[] = [];
  readonly #counts = new Map<Rule, number>();

  add(rule: Rule, what: string): void {
    this.#counts.set(rule, this.of(rule) + 1);
    // The first of each rule is kept in any case.
    if (this.kept.length < KEPT || this.of(rule) === 1) this.kept.push({ rule, what });
  }

  of(rule: Rule): number {
    return this.#counts.get(rule) ?? 0;
  }

  get count(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }
}
