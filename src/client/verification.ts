// Which code verifies what readers receive. The client itself has JavaScript for it and knows no addon; what an entry of the package
// offers beside it is fetched when something is first read.

import { javascriptWalker, type RecordWalker } from "./record-walker.js";

/** Which code verifies the sums of received records: the addon, or JavaScript. Both find the same. */
export type Verification = RecordWalker["verification"];

let walker = javascriptWalker;
/** Resolves with undefined where there is none. */
let offer: () => Promise<RecordWalker | undefined> = async () => undefined;
let fetched: Promise<void> | undefined;

/** Offers another walker, for everything in this process that is not fetched yet. */
export function offerWalker(load: () => Promise<RecordWalker | undefined>): void {
  offer = load;
}

/** Begins to fetch the walker that is offered, once. Until it is there the other one walks. */
export function fetchWalker(): Promise<void> {
  fetched ??= offer().then(
    (better) => {
      walker = better ?? walker;
    },
    () => undefined, // JavaScript it is.
  );
  return fetched;
}

/** The walker of now. */
export function currentWalker(): RecordWalker {
  return walker;
}

/**
 * Which code verifies the sums of received records in this program: `"native"`, the addon, at the speed of memory; or `"javascript"`,
 * where there is no addon for this system, where the client was bundled into a program without its files, and where the environment has
 * `MILLRACE_VERIFICATION=javascript`. What they accept and refuse is the same. Never rejects.
 *
 * ```ts
 * import { verification } from "millrace/client";
 *
 * console.log(`sums are verified by ${await verification()} code`);
 * ```
 */
export async function verification(): Promise<Verification> {
  await fetchWalker();
  return walker.verification;
}
