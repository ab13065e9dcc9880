// One record: what is known of it, and its payload as text, JSON or hex.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { RecordsPage, RecordView } from "../../../src/ops/api/types.js";
import { apiUrl, ask, messageOf } from "../lib/api.js";
import { bytes, exact } from "../lib/format.js";
import { useShortcuts } from "../lib/keys.js";
import {
  decodeBase64,
  decodeText,
  guessKind,
  hexLines,
  indentJson,
  type PayloadKind,
  visible,
} from "../lib/payload.js";
import { Boundary } from "./boundary.js";

/** A browser lays out so much text at once without a pause; the rest comes when it is asked for. */
const SHOWN_BYTES = 16 * 1024;
/** What the broker sends of one payload at most. */
const WHOLE_BYTES = 256 * 1024;

const KINDS: readonly (readonly [PayloadKind, string])[] = [
  ["text", "Text"],
  ["json", "JSON"],
  ["hex", "Hex"],
];

export interface PayloadViewProps {
  readonly topic: string;
  readonly partition: number;
  readonly record: RecordView;
}

/** What cannot be drawn of one record does not take the list beside it away. */
export function PayloadView(props: PayloadViewProps) {
  const { topic, partition, record } = props;
  return (
    <Boundary of={`${topic}/${partition}/${record.offset}`} what={`Record ${exact(record.offset)}`}>
      <Payload {...props} />
    </Boundary>
  );
}

function Payload({ topic, partition, record }: PayloadViewProps) {
  const [chosen, setChosen] = useState<PayloadKind>();
  const [shown, setShown] = useState(SHOWN_BYTES);
  const [more, setMore] = useState<{ readonly of: string; readonly record?: RecordView; readonly failed?: string }>();
  const key = `${topic}/${partition}/${record.offset}`;
  const whole = more?.of === key && more.record !== undefined ? more.record : record;
  const payload = useMemo(() => decodeBase64(whole.payload), [whole.payload]);
  const guessed = useMemo(() => guessKind(payload, whole.cut), [payload, whole.cut]);
  const kind = chosen ?? guessed;
  useEffect(() => setShown(SHOWN_BYTES), [key]);
  useShortcuts(
    "Payload",
    KINDS.map(([each, label], at) => ({ keys: String(at + 1), what: `as ${label}`, act: () => setChosen(each) })),
  );

  const fetchWhole = async (): Promise<void> => {
    const url = apiUrl(["topics", topic, "partitions", partition, "records"], {
      from: record.offset,
      limit: 1,
      payload: WHOLE_BYTES,
    });
    try {
      const page = await ask<RecordsPage>(url);
      setMore({ of: key, record: page.records[0], failed: page.damaged ?? undefined });
    } catch (error) {
      setMore({ of: key, failed: messageOf(error) });
    }
  };

  const { text, note } = useMemo(
    () => textOf(payload.subarray(0, shown), kind, whole.cut || payload.length > shown),
    [payload, shown, kind, whole.cut],
  );
  return (
    <section class="payload" aria-label={`Record ${record.offset}`}>
      <header>
        <h3>
          {topic}
          <b>/{partition}</b> <span class="numeric">{exact(record.offset)}</span>
        </h3>
        <span class="quiet">
          {bytes(record.bytes)}
          {record.bytes >= 1024 ? ` (${exact(record.bytes)} B)` : ""} ·{" "}
          {record.checked ? "sum is right" : "sum not checked"}
        </span>
        <div class="choice" role="radiogroup" aria-label="Show the payload as">
          {KINDS.map(([each, label]) => (
            <label key={each} class={each === kind ? "chosen" : ""}>
              <input
                type="radio"
                name="payload-kind"
                value={each}
                checked={each === kind}
                onChange={() => setChosen(each)}
              />
              {label}
            </label>
          ))}
        </div>
      </header>
      {note === undefined ? null : <p class="note">{note}</p>}
      {record.bytes === 0 ? <p class="note">The payload is empty.</p> : null}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <section tabIndex={0} class="content" aria-label={`Payload as ${kind}`}>
        <pre class={kind}>{text}</pre>
      </section>
      <footer>
        {payload.length > shown ? (
          <button type="button" onClick={() => setShown(shown + 4 * SHOWN_BYTES)}>
            Show more ({bytes(payload.length - shown)} are here)
          </button>
        ) : null}
        {whole.cut && payload.length <= shown ? (
          <span class="note">
            The first {bytes(payload.length)} of {bytes(whole.bytes)}.{" "}
            {payload.length < Math.min(WHOLE_BYTES, whole.bytes) && whole === record ? (
              <button type="button" onClick={() => void fetchWhole()}>
                Fetch {whole.bytes > WHOLE_BYTES ? bytes(WHOLE_BYTES) : "all"}
              </button>
            ) : (
              "The console shows no more; millrace consume does."
            )}
          </span>
        ) : null}
        {more?.of === key && more.failed !== undefined ? <span class="note bad">{more.failed}</span> : null}
      </footer>
    </section>
  );
}

function textOf(
  payload: Uint8Array,
  kind: PayloadKind,
  cut: boolean,
): { readonly text: string; readonly note?: string } {
  if (kind === "hex") return { text: hexLines(payload) };
  const text = decodeText(payload);
  if (kind === "text") return { text: visible(text) };
  const indented = indentJson(text);
  if (indented.ok) return { text: visible(indented.text) };
  const why = cut ? "Not all of it is here, so it cannot be read as JSON" : indented.why;
  return { text: visible(text), note: `${why}. As text:` };
}
