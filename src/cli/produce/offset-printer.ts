// --print-offsets: a line for each batch, as the acknowledgements come.

import { ClosedPipe, type Output } from "../output.js";

export class OffsetPrinter {
  private scheduled = false;
  private failure: unknown;
  private closed = false;

  constructor(private readonly output: Output) {}

  print(partition: number, offset: number): void {
    if (this.closed) return;
    this.output.text(`${partition} ${offset}\n`);
    if (this.scheduled) return;
    this.scheduled = true;
    // One write for all that one read from the broker acknowledged.
    setImmediate(() => {
      this.scheduled = false;
      this.output.handOver().catch((error: unknown) => this.failed(error));
    });
  }

  /** Resolves when all is printed. Rejects when it could not be. */
  async flush(): Promise<void> {
    try {
      if (!this.closed) await this.output.flush();
    } catch (error) {
      this.failed(error);
    }
    if (this.failure !== undefined) throw this.failure;
  }

  private failed(error: unknown): void {
    this.closed = true;
    // A reader that has seen enough of the offsets does not want the records to be lost: they are sent all the same.
    if (!(error instanceof ClosedPipe)) this.failure ??= error;
  }
}
