// Room on the disk, kept by what was reserved. See FileSystemSpace below for how; storage only asks through DiskSpace.

export interface DiskSpace {
  /** Whether `bytes` more may be reserved without going below what is kept free. If so they are counted until `settle`. */
  reserve(bytes: number): boolean;
  /** The file system has answered about a reservation, whatever it said: it is in its own figures now. */
  settle(bytes: number): void;
  /** Asks the file system again. A burst of calls asks once. */
  refresh(): Promise<void>;
}
