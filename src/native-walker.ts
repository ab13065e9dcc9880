// Offers the addon's walk over received records to the client. The client must run without: whatever is in the way, it stays with
// JavaScript, silently. The addon is loaded by an import that nothing waits for, so that the entries import at the old speed, and a
// bundler that makes one file of a program finds nothing in it that could fail before it is used.

import { javascriptWalker, type RecordWalker } from "./client/record-walker.js";
import { offerWalker } from "./client/verification.js";
import { SEGMENT_BYTES_MAX } from "./model/limits.js";
import type { RecordFormat } from "./model/record-format.js";
import type { NativeAddon, RecordFormatId } from "./native/binding.js";

/** Below it the call into the addon, 0.12 µs, costs more than the sums: JavaScript takes 0.09 for a record of 50 bytes, 0.16 for one of 200. */
const NATIVE_BYTES_MIN = 128;

/** As {@link RecordFormatId} has them; that module cannot be imported here, as it loads the addon or throws. */
const formatIds: Readonly<Record<RecordFormat, RecordFormatId>> = { plain: 0, crc32c: 1 };

/** Exported for its tests, as is `bytesMin`. */
export function nativeWalker(
  { walkRecords }: Pick<NativeAddon, "walkRecords">,
  bytesMin = NATIVE_BYTES_MIN,
): RecordWalker {
  return {
    verification: "native",
    walk(bytes, from, format, ranges, room, walked) {
      if (bytes.length - from < bytesMin) javascriptWalker.walk(bytes, from, format, ranges, room, walked);
      else walkRecords(bytes, from, formatIds[format], SEGMENT_BYTES_MAX, ranges, room, walked);
    },
  };
}

/** Bun and Deno call themselves Node. The addon has a handle in libuv's loop, and what they do with that is not known. */
const isNode = (): boolean => !["bun", "deno"].some((runtime) => runtime in process.versions);

export async function loadNativeWalker(): Promise<RecordWalker | undefined> {
  if (process.env.MILLRACE_VERIFICATION === "javascript" || !isNode()) return undefined;
  const { loadAddon } = await import("./native/load.js");
  const addon: Partial<NativeAddon> = loadAddon();
  // One from another version, built by hand, has no such call.
  return typeof addon.walkRecords === "function" ? nativeWalker({ walkRecords: addon.walkRecords }) : undefined;
}

offerWalker(loadNativeWalker);
