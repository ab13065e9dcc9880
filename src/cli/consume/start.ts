// `--from`: where a reader begins.

import { InvalidArgumentError } from "commander";
import type { StartPosition } from "../../client/start-position.js";
import { OFFSET_MAX } from "../../model/limits.js";
import { ISO_RULE, isoTime, msTime } from "../times.js";

/** Digits alone are an offset, so milliseconds say what they are. */
export function parseFrom(written: string): StartPosition {
  if (written === "earliest" || written === "latest") return written;
  if (/^\d{1,16}$/.test(written) && Number(written) <= OFFSET_MAX) return Number(written);
  const ms = written.endsWith("ms") ? msTime(written.slice(0, -2)) : isoTime(written);
  if (ms !== undefined) return new Date(ms);
  throw new InvalidArgumentError(
    `It takes earliest, latest, an offset, ${ISO_RULE}, or milliseconds since 1970 like 1796000000000ms.`,
  );
}
