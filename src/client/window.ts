// How much may be on its way at once. Whoever sends more waits: memory stays bounded however slow the broker is.

export class Window {
  private bytes = 0;
  private requests = 0;
  private readonly forRoom: (() => void)[] = [];
  private readonly forEmpty: (() => void)[] = [];

  constructor(
    private readonly bytesMax: number,
    private readonly requestsMax: number,
  ) {}

  get isFull(): boolean {
    return this.bytes >= this.bytesMax || this.requests >= this.requestsMax;
  }

  get bytesInside(): number {
    return this.bytes;
  }

  get isEmpty(): boolean {
    return this.requests === 0;
  }

  /** A request left. It may go beyond the bound: what is bounded is by how much, one request. */
  enter(bytes: number): void {
    this.bytes += bytes;
    this.requests++;
  }

  /** It was answered, or failed; or several were, of so many bytes together. */
  leave(bytes: number, requests = 1): void {
    this.bytes -= bytes;
    this.requests -= requests;
    // Nobody is woken for nothing: there may be thousands, and an answer to each of their requests.
    if (!this.isFull) wake(this.forRoom);
    if (this.isEmpty) wake(this.forEmpty);
  }

  /** Resolves when there is room. */
  async room(): Promise<void> {
    while (this.isFull) await new Promise<void>((resolve) => this.forRoom.push(resolve));
  }

  /** Resolves when nothing is on its way. */
  async empty(): Promise<void> {
    while (!this.isEmpty) await new Promise<void>((resolve) => this.forEmpty.push(resolve));
  }
}

function wake(waiting: (() => void)[]): void {
  for (const resolve of waiting.splice(0)) resolve();
}
