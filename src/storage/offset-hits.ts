// The last few positions that were looked up, so that readers at the same place, and those who go on where the log ended a
// moment ago, need no walk. A record never moves, so nothing here is ever wrong; it is only forgotten.

/** A lookup compares all of them: about 10 ns, against a microsecond of walking. */
const HITS = 16;

export class OffsetHits {
  readonly #offsets = new Float64Array(HITS).fill(-1);
  readonly #positions = new Uint32Array(HITS);
  #next = 0;

  /** −1 when it is not among them. */
  find(offset: number): number {
    const offsets = this.#offsets;
    for (let at = 0; at < HITS; at++) if (offsets[at] === offset) return this.#positions[at];
    return -1;
  }

  add(offset: number, position: number): void {
    // The same end is planned to by every reader that has caught up.
    if (this.#offsets[(this.#next + HITS - 1) % HITS] === offset) return;
    this.#offsets[this.#next] = offset;
    this.#positions[this.#next] = position;
    this.#next = (this.#next + 1) % HITS;
  }
}
