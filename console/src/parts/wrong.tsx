// What is wrong with what somebody types, and what is expected, beside its field, which names it in aria-describedby.

import type { ComponentChildren } from "preact";

export interface WrongProps {
  readonly id: string;
  readonly children: ComponentChildren;
}

export function Wrong({ id, children }: WrongProps) {
  return (
    <small id={id} class="bad" role="status">
      {children}
    </small>
  );
}
