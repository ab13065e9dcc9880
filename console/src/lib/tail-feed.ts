// The live tail as the page has it: the newest records, how many come in a second, and how many of them are left out. Events come
// five times a second at most, whatever the broker takes.

import type { TailBegin, TailEvent, TailRecord } from "../../../src/ops/api/types.js";
import { apiUrl, messageOf, Refusal } from "./api.js";

/** More than a person scrolls through before pausing. */
export const KEPT_RECORDS = 400;
const RATE_MS = 2_000;
const RETRY_MS = 2_000;

export interface SeenRecord extends TailRecord {
  readonly seenMs: number;
}

export interface TailView {
  readonly state: "connecting" | "live" | "lost" | "refused";
  /** Why it is refused, or what is wrong with a record that came. */
  readonly why: string | undefined;
  /** Newest first. */
  readonly records: readonly SeenRecord[];
  readonly came: number;
  readonly leftOut: number;
  /** Records in a second, over the last two. */
  readonly perSecond: number;
  readonly shownPerSecond: number;
  readonly sampled: boolean;
}

export const emptyTail: TailView = {
  state: "connecting",
  why: undefined,
  records: [],
  came: 0,
  leftOut: 0,
  perSecond: 0,
  shownPerSecond: 0,
  sampled: false,
};

interface Counted {
  readonly at: number;
  readonly came: number;
  readonly shown: number;
}

export class TailFeed {
  private view = emptyTail;
  private counted: Counted[] = [];
  private source: EventSource | undefined;
  private closed = false;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private readonly timer: ReturnType<typeof setInterval>;
  private readonly url: string;

  constructor(
    topic: string,
    partitions: string | undefined,
    last: number,
    private readonly onView: (view: TailView) => void,
    private readonly onFailed: () => void,
  ) {
    this.url = apiUrl(["topics", topic, "tail"], { partition: partitions, last });
    this.open();
    // A rate falls when nothing comes.
    this.timer = setInterval(() => this.change({}), 500);
  }

  close(): void {
    this.closed = true;
    clearInterval(this.timer);
    clearTimeout(this.retry);
    this.source?.close();
  }

  clear(): void {
    this.change({ records: [], came: 0, leftOut: 0, why: this.view.state === "live" ? undefined : this.view.why });
  }

  private open(): void {
    const source = new EventSource(this.url);
    this.source = source;
    source.addEventListener("begin", ({ data }: MessageEvent<string>) => {
      const begin = JSON.parse(data) as TailBegin;
      this.change({
        state: "live",
        why: begin.partitions.length === 0 ? "It has no partition that is open." : undefined,
      });
    });
    source.addEventListener("records", ({ data }: MessageEvent<string>) => this.take(JSON.parse(data) as TailEvent));
    source.addEventListener("failed", ({ data }: MessageEvent<string>) => {
      this.change({ state: "refused", why: (JSON.parse(data) as { error: string }).error });
    });
    source.addEventListener("error", () => void this.failed(source));
  }

  private take({ records, leftOut, damaged }: TailEvent): void {
    const seenMs = Date.now();
    const came = records.length + leftOut;
    this.counted.push({ at: performance.now(), came, shown: records.length });
    const newest = records.map((record) => ({ ...record, seenMs })).reverse();
    this.change({
      state: "live",
      why: damaged ?? this.view.why,
      records: [...newest, ...this.view.records].slice(0, KEPT_RECORDS),
      came: this.view.came + came,
      leftOut: this.view.leftOut + leftOut,
    });
  }

  private change(part: Partial<TailView>): void {
    const now = performance.now();
    this.counted = this.counted.filter(({ at }) => now - at < RATE_MS);
    const sum = (of: keyof Counted): number => this.counted.reduce((total, each) => total + each[of], 0);
    const perSecond = Math.round((sum("came") * 1000) / RATE_MS);
    const shownPerSecond = Math.round((sum("shown") * 1000) / RATE_MS);
    const next = { ...this.view, ...part, perSecond, shownPerSecond, sampled: sum("came") > sum("shown") };
    const same = (Object.keys(next) as (keyof TailView)[]).every((key) => Object.is(next[key], this.view[key]));
    this.view = next;
    if (!same) this.onView(next);
  }

  /** An EventSource says nothing of why. One that is closed got an answer that is no stream: that answer says it. */
  private async failed(source: EventSource): Promise<void> {
    if (source !== this.source || this.closed) return;
    if (source.readyState !== EventSource.CLOSED) {
      if (this.view.state !== "refused") this.change({ state: "lost" });
      this.onFailed();
      return;
    }
    try {
      const why = await refusalOf(this.url);
      this.change({ state: why === undefined ? "lost" : "refused", why });
    } catch (error) {
      this.change({ state: "lost", why: messageOf(error) });
      this.onFailed();
    }
    // It does not try again by itself then.
    if (!this.closed) this.retry = setTimeout(() => this.open(), RETRY_MS);
  }
}

async function refusalOf(url: string): Promise<string | undefined> {
  const abort = new AbortController();
  const answer = await fetch(url, { signal: abort.signal });
  if (answer.ok) {
    abort.abort();
    return undefined;
  }
  const { error, code } = (await answer.json()) as { error: string; code: string };
  return new Refusal(answer.status, code, error).message;
}
