// What TypeScript needs to know of build.mjs.

/** No compiler (exit code 2), or it fails (1). */
export class NoTools extends Error {
  readonly exitCode: number;
}

/** Builds the native tools when they are missing or stale, and says where they are. */
export function buildTools(into?: string): Promise<{ readonly floor: string; readonly loadgen: string; readonly waiters: string }>;
