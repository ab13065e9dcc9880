// Cuts that a person hears of: each once, however many connections it takes down and however often they are tried.

import type { Messages } from "../io.js";

export class Outages {
  private down = 0;
  /** There was one. */
  happened = false;

  constructor(
    private readonly address: string,
    private readonly stderr: Messages,
    /** The last of the connections is back. */
    private readonly onOver: () => void,
  ) {}

  /** For one connection. */
  heard() {
    let isDown = false;
    return {
      onLost: ({ message }: Error): void => {
        if (isDown) return;
        isDown = true;
        this.happened = true;
        if (this.down++ === 0) this.stderr.write(`millrace: ${message}; trying again\n`);
      },
      onRecovered: (): void => {
        isDown = false;
        if (--this.down > 0) return;
        this.stderr.write(`millrace: connected to ${this.address} again\n`);
        this.onOver();
      },
    };
  }
}
