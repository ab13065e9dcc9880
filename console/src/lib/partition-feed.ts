// A partition with its segments, however many. All are asked for once, a page at a time; after that only those from the newest
// on, because the older ones do not change but go away.

import { useEffect, useState } from "preact/hooks";
import type { PartitionPage, SegmentView } from "../../../src/ops/api/types.js";
import { apiUrl, ask, Refusal } from "./api.js";
import { linkFailed } from "./link.js";
import { postponed } from "./shown.js";

const EVERY_MS = 1_000;
const PAGE_SEGMENTS = 1_000;
/** More segments than that are not drawn; the list says so. */
export const SEGMENTS_MAX = 20_000;

export interface PartitionFeed {
  readonly page: PartitionPage | undefined;
  readonly segments: readonly SegmentView[];
  readonly refusal: Refusal | undefined;
}

/** `withSegments` false: offsets alone. */
export function usePartition(topic: string, partition: number, withSegments: boolean): PartitionFeed {
  const of = `${topic}/${partition}/${withSegments}`;
  const [state, setState] = useState<PartitionFeed & { readonly of: string }>({
    of: "",
    page: undefined,
    segments: [],
    refusal: undefined,
  });
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let segments: readonly SegmentView[] = [];
    const pageFrom = (from: number): Promise<PartitionPage> =>
      ask(
        apiUrl(["topics", topic, "partitions", partition], { from, limit: withSegments ? PAGE_SEGMENTS : 1 }),
        abort.signal,
      );
    const next = async (): Promise<void> => {
      if (postponed(next, abort.signal)) return;
      try {
        let page = await pageFrom(segments.at(-1)?.baseOffset ?? 0);
        segments = merged(segments, page);
        while (withSegments && page.next !== null && segments.length < SEGMENTS_MAX) {
          page = await pageFrom(page.next);
          segments = merged(segments, page);
        }
        setState({ of, page, segments, refusal: undefined });
      } catch (error) {
        if (abort.signal.aborted) return;
        if (error instanceof Refusal) setState((old) => ({ ...old, of, refusal: error }));
        else linkFailed();
      }
      timer = setTimeout(() => void next(), EVERY_MS);
    };
    void next();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [of]);
  return state.of === of ? state : { page: undefined, segments: [], refusal: undefined };
}

/** What a page brings stands in the place of what was known from there on; what retention removed goes. */
function merged(known: readonly SegmentView[], page: PartitionPage): readonly SegmentView[] {
  const first = page.segments[0]?.baseOffset ?? 0;
  const start = page.partition.logStartOffset;
  return [...known.filter(({ baseOffset }) => baseOffset < first), ...page.segments].filter(
    ({ endOffset, active }) => active || endOffset > start,
  );
}
