// The bounds of the broker that is put to the test: small, so that they are met.

const KiB = 1024;

export const FRAME_BYTES_MAX = 256 * KiB;
export const SEGMENT_BYTES = 260 * KiB;
export const QUEUED_BYTES_MAX = 1024 * KiB;
/** Of a wait, so that answers behind one come soon. */
export const WAIT_MS_MAX = 20;
/** Longer than anybody waits here: what ends a connection must be its bytes. */
export const FRAME_TIMEOUT_MS = 120_000;
