// When to cut: at a random moment, or right when the broker does something that is seldom and delicate.

import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";
import type { Random } from "../../lib/random.js";

export const AIMS = ["load", "roll", "index", "checkpoint", "retention", "stop", "restart", "recovery"] as const;
/** `restart`: behind a stop or a death of the process, and before anything is forced that came after it. */
export type Aim = (typeof AIMS)[number];

/** How often of all. */
const WEIGHTS: Readonly<Record<Aim, number>> = {
  load: 30,
  roll: 12,
  index: 12,
  checkpoint: 12,
  retention: 10,
  stop: 12,
  restart: 12,
  recovery: 12,
};

export function pickAim(random: Random): Aim {
  return random.pick(AIMS.flatMap((aim) => Array.from({ length: WEIGHTS[aim] }, () => aim)));
}

/** Names of files whose change says that it is happening. */
const SIGNS: Readonly<Partial<Record<Aim, RegExp>>> = {
  roll: /^next\.tmp$/,
  index: /\.index(\.tmp)?$/,
  checkpoint: /^checkpoint/,
  retention: /^\d+\.log$/,
};

/** Resolves when a partition's directory shows it for the n-th time, or when `lateMs` have passed. True: it was seen. */
export async function seen(dataDir: string, aim: Aim, nth: number, lateMs: number): Promise<boolean> {
  const sign = SIGNS[aim];
  const watchers: FSWatcher[] = [];
  let left = nth;
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), lateMs);
      if (sign === undefined) return;
      for (const entry of readdirSync(dataDir, { withFileTypes: true })) {
        if (!entry.isDirectory()) continue;
        const watcher = watch(join(dataDir, entry.name), (event, name) => {
          // A removal is a "rename" in this watcher's words, as is a file that appears.
          if (name === null || !sign.test(name) || (aim === "retention" && event !== "rename")) return;
          if (--left === 0) resolve(true);
        });
        // The file system goes away under it.
        watcher.on("error", () => undefined);
        watchers.push(watcher);
      }
    });
  } finally {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  }
}
