// The data directory: one broker at a time, and layouts that come and go.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LAYOUT_FILE, layoutProblem, lockDataDir, settleLayout } from "../../src/storage/data-dir.js";
import type { StorageEvent } from "../../src/storage/events.js";
import { tempDir } from "../support/tmp.js";

const layoutIn = (dir: string): unknown => JSON.parse(readFileSync(join(dir, LAYOUT_FILE), "utf8"));
const nothing = (): Promise<void> => Promise.resolve();

it("O05 is held by one process, and a second one is told by whom", async () => {
  const dir = join(tempDir(), "made", "with-parents");
  const lock = await lockDataDir(dir);
  await expect(lockDataDir(dir)).rejects.toMatchObject({ code: "DATA_DIR_IN_USE" });
  await expect(lockDataDir(dir)).rejects.toThrow(`process ${process.pid}`);
  lock.release();
  (await lockDataDir(dir)).release();
});

it("that cannot be made is unusable", async () => {
  const file = join(tempDir(), "file");
  writeFileSync(file, "");
  // The last one is there, and says all the same that something is missing: Node's own way to make parents never ends there.
  const impossible = [join(file, "below"), file, ...(process.platform === "linux" ? ["/proc/millrace/data"] : [])];
  for (const path of impossible) await expect(lockDataDir(path)).rejects.toMatchObject({ code: "DATA_DIR_UNUSABLE" });
});

it("gets the layout of this broker when it is new, and keeps it", async () => {
  const dir = tempDir();
  const events: StorageEvent[] = [];
  expect(await settleLayout(dir, (event) => events.push(event))).toBe(true);
  expect(layoutIn(dir)).toEqual({ layout: 1 });
  expect(await settleLayout(dir, (event) => events.push(event))).toBe(false);
  expect(events).toEqual([]);
});

it("of a newer layout is a refusal, and stays as it is", async () => {
  const dir = tempDir();
  writeFileSync(join(dir, LAYOUT_FILE), '{"layout":7}');
  await expect(settleLayout(dir, () => undefined)).rejects.toMatchObject({ code: "DATA_DIR_UNUSABLE" });
  await expect(settleLayout(dir, () => undefined)).rejects.toThrow(
    /says layout 7, .*: start the version that wrote it/,
  );
  expect(layoutIn(dir)).toEqual({ layout: 7 });
});

it("whose layout file cannot be read is unusable, and says what to do", async () => {
  const dir = tempDir();
  mkdirSync(join(dir, LAYOUT_FILE));
  const refused = `${join(dir, LAYOUT_FILE)} is a directory, and should be a file: if this is a broker's directory, move it away`;
  await expect(settleLayout(dir, () => undefined)).rejects.toThrow(refused);
  expect(await layoutProblem(dir)).toMatchObject({ what: expect.stringContaining("move it away") });
});

it("of an older layout is upgraded in place, step by step, and it is said", async () => {
  const dir = tempDir();
  writeFileSync(join(dir, LAYOUT_FILE), '{"layout":1}');
  const events: StorageEvent[] = [];
  const seen: string[] = [];
  const step = (name: string) => async (): Promise<void> => {
    seen.push(`${name} at ${JSON.stringify(layoutIn(dir))}`);
  };
  await settleLayout(dir, (event) => events.push(event), [step("0→1"), step("1→2"), step("2→3")]);
  expect(seen).toEqual(['1→2 at {"layout":1}', '2→3 at {"layout":2}']);
  expect(layoutIn(dir)).toEqual({ layout: 3 });
  expect(events).toMatchObject([{ kind: "layout.upgraded", from: 1, to: 3 }]);
});

it("goes on with an upgrade that was cut off where it was", async () => {
  const dir = tempDir();
  writeFileSync(join(dir, LAYOUT_FILE), '{"layout":1}');
  const broken = [nothing, nothing, () => Promise.reject(new Error("cut off"))];
  await expect(settleLayout(dir, () => undefined, broken)).rejects.toThrow("cut off");
  expect(layoutIn(dir)).toEqual({ layout: 2 });
  await settleLayout(dir, () => undefined, [nothing, () => Promise.reject(new Error("done before")), nothing]);
  expect(layoutIn(dir)).toEqual({ layout: 3 });
});

it.each(["", "{}", "[1]", "null", '{"layout":"1"}', '{"layout":1.5}', '{"layout":-1}', "not json"])(
  "whose layout file says %s is unusable",
  async (text) => {
    const dir = tempDir();
    writeFileSync(join(dir, LAYOUT_FILE), text);
    await expect(settleLayout(dir, () => undefined)).rejects.toMatchObject({ code: "DATA_DIR_UNUSABLE" });
  },
);
