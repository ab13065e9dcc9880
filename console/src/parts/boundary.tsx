// Around what may fail to be drawn: says so in its place, and lets everything beside it go on. Whatever is shown next is tried anew.

import { Component, type ComponentChildren } from "preact";
import { messageOf } from "../lib/api.js";

export interface BoundaryProps {
  /** What is shown within; another one is drawn although this one failed. */
  readonly of: string;
  /** Its name, as the beginning of a sentence. */
  readonly what: string;
  readonly children: ComponentChildren;
}

interface BoundaryState {
  readonly failed?: { readonly of: string; readonly message: string } | undefined;
}

export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = {};

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ failed: { of: this.props.of, message: messageOf(error) } });
  }

  override render({ of, what, children }: BoundaryProps, { failed }: BoundaryState): ComponentChildren {
    if (failed?.of !== of) return children;
    return (
      <div class="banner impaired failed" role="alert">
        <strong>{what} cannot be shown.</strong>{" "}
        <span>The console failed to draw it: {failed.message}. Everything else goes on.</span>{" "}
        <button type="button" onClick={() => this.setState({ failed: undefined })}>
          Try again
        </button>
      </div>
    );
  }
}
