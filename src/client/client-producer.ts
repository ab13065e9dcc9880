// A producer that a client has made, and that ends with it.

import type { Backend } from "./link.js";
import { Producer } from "./producer/producer.js";
import type { ProducerOptions } from "./producer/producer-options.js";

/** Is forgotten by its client when it is closed. */
export class ClientProducer extends Producer {
  constructor(
    backend: Backend,
    options: ProducerOptions,
    private readonly onClosed: () => void,
  ) {
    super(backend, options);
  }

  override async close(): Promise<void> {
    await super.close().finally(this.onClosed);
  }

  override destroy(): void {
    super.destroy();
    this.onClosed();
  }
}
