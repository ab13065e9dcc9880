// The disk that tests of failing writes stand on.

import { execFileSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { SmallDisk, whyNot } from "./support/small-disk.js";

const missing = whyNot();

it.skipIf(missing !== undefined)("a disk that the kernel does not let go of is not repaired, and says so", () => {
  const disk = new SmallDisk({ megabytes: 8, backedBy: 16 });
  const device = execFileSync("findmnt", ["-n", "-o", "SOURCE", disk.dir], { encoding: "utf8" }).trim();
  const held = openSync(device, "r");
  let open = true;
  const letGo = (): void => {
    if (open) closeSync(held);
    open = false;
  };
  onTestFinished(letGo);
  disk.failWrites();
  expect(() => disk.repair({ letGoMs: 200 })).toThrow(/loop\d+ still has .*disk\.img after 200 ms/);
  letGo();
  // Nothing but that was in the way.
  disk.failWrites();
  disk.repair();
});
