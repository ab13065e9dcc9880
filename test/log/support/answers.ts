// A listener that remembers what it was told, in order.

import type { AppendListener } from "../../../src/log/append-listener.js";

export interface Answer {
  readonly token: number;
  readonly error: number;
  readonly base: number;
}

export class Answers implements AppendListener {
  readonly all: Answer[] = [];
  appended(token: number, error: number, base: number): void {
    this.all.push({ token, error, base });
  }
  /** The tokens of those that were told this. */
  of(error: number): number[] {
    return this.all.filter((answer) => answer.error === error).map(({ token }) => token);
  }
}
