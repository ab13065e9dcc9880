// Names and values beside each other, and the sign of a partition's state.

import type { ComponentChildren } from "preact";
import type { PartitionInfo } from "../../../src/ops/api/types.js";

export type Fact = readonly [name: string, value: ComponentChildren, note?: ComponentChildren];

export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value, note]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {note === undefined ? null : <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function StateSign({ state }: { readonly state: PartitionInfo["state"] }) {
  return <span class={`sign ${state}`}>{state}</span>;
}

/** What a person must know of a partition that is not well; nothing of one that is. */
export function Trouble({ state, reason }: PartitionInfo) {
  if (state === "open") return null;
  const what =
    state === "refused" ? "This partition refused to open." : "This partition takes no writes since one failed.";
  return (
    <div class="banner impaired" role="alert">
      <strong>{what}</strong> <span>{reason ?? "The broker does not say why."}</span>
    </div>
  );
}
