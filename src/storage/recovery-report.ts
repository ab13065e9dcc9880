// What an opening found and did. Filled by recovery, kept by the partition for metrics, the console and `verify`.

export interface RecoveryReport {
  /** Nothing had to be scanned: the partition was closed cleanly, or is new. */
  readonly clean: boolean;
  readonly segments: number;
  readonly scannedBytes: number;
  readonly milliseconds: number;
  /** Bytes that were moved to `.torn` files beside the log, and those files. */
  readonly tornBytes: number;
  readonly tornFiles: readonly string[];
  readonly indexesRebuilt: number;
  /** The epoch went up: records were cut, or may have been lost with a power cut, which leaves no trace of what it takes. */
  readonly epochRaised: boolean;
}
