// What sides/peer-client.ts wants of a Node client. The peers' are packages that this project does not depend on: they are imported from where
// `--fetch` has put them, and each file here declares the little of them that it uses.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export interface OpenOptions {
  /** The peers' packages. */
  readonly modules: string;
  readonly port: number;
  readonly topic: string;
  readonly connections: number;
  /** Of each request. */
  readonly records: number;
  readonly payload: Uint8Array;
  readonly ack: "written" | "forced";
}

export interface NodeClient {
  /** One for each connection: sends a request and resolves when it is acknowledged. */
  readonly links: readonly (() => Promise<unknown>)[];
  /**
   * Goes through the log from its start, about so many bytes at once, looks at every record, and tells `got` how many there were each
   * time until that answers no. Resolves with how many there were.
   */
  readonly read?: (maxBytes: number, range: number, got: (records: number) => boolean) => Promise<number>;
}

export async function importFrom<T>(modules: string, name: string): Promise<T> {
  const require = createRequire(pathToFileURL(join(modules, "..", "package.json")));
  return (await import(pathToFileURL(require.resolve(name)).href)) as T;
}

/** `times` of them at once. */
export const each = <T>(times: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, index) => make(index)));
