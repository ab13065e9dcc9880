// What verify finds, and how it is said. It must not know how it was found.

import type { Place } from "./checkpoint-fit.js";
import { PartitionDamagedError } from "./damage.js";

/** What verify finds, in the order of the log. */
export type Finding =
  | {
      /** Something that was acknowledged is not what it was, or what says where it is cannot be trusted. */
      readonly kind: "damage";
      readonly path: string;
      /** −1 where there is none. */
      readonly position: number;
      readonly offset: number;
      readonly what: string;
    }
  /** Worth saying, and harmless: what the next start will do, an index that it will write. */
  | { readonly kind: "note"; readonly path: string; readonly what: string }
  /** A segment was looked at. */
  | {
      readonly kind: "segment";
      readonly path: string;
      /** Up to where its records end. */
      readonly records: number;
      readonly bytes: number;
      /** Nothing of it is damaged. */
      readonly sound: boolean;
    };

/** The place of what concerns a whole file. */
export const NOWHERE: Place = { position: -1, offset: -1 };

export const damageOf = (path: string, { position, offset }: Place, what: string): Finding => ({
  kind: "damage",
  path,
  position,
  offset,
  what,
});

/** What cannot be used, because of what it says, or because it cannot be read: then its path is put into `unreadable`. */
export function spoiled(path: string, cause: unknown, unreadable: string[]): Finding {
  if (cause instanceof PartitionDamagedError) return damageOf(cause.path, NOWHERE, cause.what);
  unreadable.push(path);
  return damageOf(path, NOWHERE, `it cannot be read: ${(cause as Error).message}`);
}
