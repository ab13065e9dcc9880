// Jobs of one kind, one after the other: what must not overlap for a partition (barriers; changes of the active segment;
// writes beside the log) goes through a lane each. A job that fails does not stop the next one.

export class Lane {
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  get busy(): boolean {
    return this.#waiting > 0;
  }

  run<T>(job: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const result = this.#tail.then(job);
    this.#tail = result.then(
      () => this.#waiting--,
      () => this.#waiting--,
    );
    return result;
  }

  /** Resolves when everything that was put in before has ended. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
