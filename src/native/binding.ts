// The one place that loads the addon, and the door to its typed face: whoever uses it imports from here. TypeScript decides,
// C++ moves bytes: nothing in this folder holds policy.
//
//   append-table.ts    rows of an append call
//   segment-files.ts   files and segment writers
//   selector.ts        sockets: tables of frames and of answers
//   addon.ts           all that the addon exports
//
// The numbers in them cross the boundary. `native/core/abi.h` has the same; a test compares them.
//
// Calls that return a value never block on a disk; whatever can block returns a promise and runs on the addon's own threads
// (pools for barriers, reads, maintenance and population; never libuv's).
//
// A failed system call is an `Error` with `code` ("ENOSPC"), `errno`, `syscall` and, where there is one, `path`.

import type { NativeAddon } from "./addon.js";
import { loadAddon } from "./load.js";

export type { DirectoryLock, NativeAddon } from "./addon.js";
export * from "./append-table.js";
export * from "./segment-files.js";
export * from "./selector.js";

/** The addon of this platform. Throws `ADDON_UNAVAILABLE` with what was looked for and the command that builds it. */
export const native: NativeAddon = loadAddon();
