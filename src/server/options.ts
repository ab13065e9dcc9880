// What a server is told about its sockets. The settings' schema (ops/) makes this; nothing here is checked again.

export interface ServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly socketPath: string | undefined;
  readonly maxFrameBytes: number;
  readonly connectionsMax: number;
  readonly requestsMax: number;
  readonly queuedBytesMax: number;
  readonly connectionQueuedBytesMax: number;
  readonly frameTimeoutMs: number;
  readonly writeStallMs: number;
  readonly idleMs: number | undefined;
  readonly zeroCopy: boolean;
  /** How long a stop waits until what is queued was sent. */
  readonly stopSendMs: number;
  /** What HELLO says of this broker. */
  readonly brokerName: string;
  readonly brokerVersion: string;
}
