// What the rung tells a program of it, and what a program says at its end. Programs run in processes of their own, since what they look for is a crash.

import { createRequire } from "node:module";
import type { NativeAddon } from "../../../src/native/binding.js";

export interface Job {
  /** Path of the addon under test. */
  readonly addon: string;
  /** Empty. */
  readonly directory: string;
  readonly seed: number;
  readonly seconds: number;
}

export interface Report {
  readonly counts: Readonly<Record<string, number>>;
  /** What was not as documented. */
  readonly wrong: readonly string[];
}

export const jobOf = (text: string): Job => JSON.parse(text) as Job;

export const loadAddon = ({ addon }: Pick<Job, "addon">): NativeAddon =>
  createRequire(import.meta.url)(addon) as NativeAddon;

/** The last line of a program is its report; what it was doing before a crash is in the lines before. */
export function tell(report: Report): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

/** So that one mistake does not print a hundred thousand lines. */
const WRONG_KEPT = 20;

export class Notes {
  readonly wrong: string[] = [];
  readonly counts: Record<string, number> = {};

  count(what: string, by = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + by;
  }

  add(what: string): void {
    if (this.wrong.length < WRONG_KEPT) this.wrong.push(what);
  }
}
