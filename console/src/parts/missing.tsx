// The page of a topic or a partition that the broker does not have: an address that was mistyped, or kept from another broker.

import type { Refusal } from "../lib/api.js";
import { to } from "../lib/router.js";

export const isMissing = (refusal: Refusal | undefined): refusal is Refusal & { readonly code: "NOT_FOUND" } =>
  refusal?.code === "NOT_FOUND";

export interface MissingProps {
  readonly refusal: Refusal;
  readonly topic: string;
  /** It is a partition that was asked for. */
  readonly partition?: number;
}

export function Missing({ refusal, topic, partition }: MissingProps) {
  return (
    <>
      <h1>{partition === undefined ? "No such topic" : "No such partition"}</h1>
      <p role="alert">The broker says: {refusal.message}. Topics and their partitions are its setting “topics”.</p>
      <p>
        {partition === undefined ? null : (
          <>
            <a href={to.topic(topic)}>Topic {topic}</a>
            {" · "}
          </>
        )}
        <a href={to.topics}>All topics</a>
      </p>
    </>
  );
}
