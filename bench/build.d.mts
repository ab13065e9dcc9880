// What TypeScript needs to know of build.mjs.

/** Builds the native tools when they are missing or stale, and says where they are. */
export function buildTools(): Promise<{ readonly floor: string; readonly loadgen: string; readonly waiters: string }>;
