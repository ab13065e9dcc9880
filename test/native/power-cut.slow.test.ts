// What a barrier promised is there after the power was cut: on ext4 and XFS, on both paths, with blocks that were prepared and
// pages that were populated ahead. C5: and what was only written need not be, which is how the disk of this test is tested.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { native, type RecordFormatId } from "../../src/native/binding.js";
import { printedSeed, randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";
import { type FileSystem, PowerCutDisk, whyNoPowerCuts, withImage } from "./support/power-cut.js";

const writerScript = fileURLToPath(new URL("support/power-cut-writer.mjs", import.meta.url));
const ROUNDS = 6;

interface Promised {
  readonly end: number;
  readonly sum: number;
  readonly sealed: boolean;
}

/** The last promise about each segment, among the lines that had come when the power went. */
function promisesIn(lines: readonly string[]): Map<string, Promised> {
  const promises = new Map<string, Promised>();
  for (const line of lines) {
    const [name, end, sum, what] = line.split(" ");
    if (name === undefined) continue;
    if (end === "removed") promises.delete(name);
    else promises.set(name, { end: Number(end), sum: Number(sum), sealed: what === "sealed" });
  }
  return promises;
}

async function brokenPromise(path: string, name: string, promised: Promised): Promise<string | undefined> {
  if (!existsSync(path)) return `${name} is gone`;
  const file = await native.openFile(path, { writable: false });
  try {
    const bytes = new Uint8Array(promised.end);
    if (file.read(bytes, 0) !== promised.end) return `${name} is shorter than ${promised.end}`;
    if (native.crc32c(bytes) !== promised.sum) return `${name} has other bytes below ${promised.end}`;
    if (promised.sealed && file.size() !== promised.end) return `${name} was sealed at ${promised.end}`;
    const { end } = await file.scan(Number(name.split("-")[1]) as RecordFormatId, 0, file.size(), 4096);
    return end < promised.end ? `${name} is scanned up to ${end} of ${promised.end}` : undefined;
  } finally {
    file.close();
  }
}

/** Writes for a while, cuts, starts again: the promises that were broken, of how many. */
async function roundOf(
  fileSystem: FileSystem,
  seed: number,
  lying: boolean,
): Promise<{ kept: number; broken: string[] }> {
  const dir = tempDir("power");
  const disk = await PowerCutDisk.attach(fileSystem, dir);
  onTestFinished(() => disk.detach());
  const data = join(disk.mountPoint, "data");
  mkdirSync(data);
  const args = [writerScript, data, String(seed), ...(lying ? ["lying"] : [])];
  const writer = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void writer.kill("SIGKILL"));
  const lines: string[] = [];
  createInterface(writer.stdout).on("line", (line) => lines.push(line));
  await new Promise((resolve) => setTimeout(resolve, 800 + randomFrom(seed)() * 2500));
  const promises = promisesIn(lines); // before the cut: what comes from here on may or may not be there
  const removedLater = lines.length;
  const { image } = await disk.cut(seed);
  const gone = once(writer, "exit");
  writer.kill("SIGKILL");
  await gone;
  for (const line of lines.slice(removedLater)) {
    if (line.endsWith(" removed")) promises.delete(line.split(" ")[0] as string);
  }
  await disk.detach();
  return await withImage(image, disk.mountPoint, async () => {
    const broken: string[] = [];
    for (const [name, promised] of promises) {
      const problem = await brokenPromise(join(data, name), name, promised);
      if (problem !== undefined) broken.push(problem);
    }
    return { kept: promises.size - broken.length, broken };
  });
}

describe.each<FileSystem>(["ext4", "xfs"])("on %s", (fileSystem) => {
  const reason = whyNoPowerCuts(fileSystem);

  it.skipIf(reason !== undefined)(
    `C5 nothing that a barrier covered is lost when the power is cut${reason ? ` (${reason})` : ""}`,
    async () => {
      const seed = printedSeed(`power cuts on ${fileSystem}`);
      for (let round = 0; round < ROUNDS; round++) {
        const { kept, broken } = await roundOf(fileSystem, seed + round, false);
        expect(broken, `seed ${seed + round}`).toEqual([]);
        expect(kept).toBeGreaterThan(0);
      }
    },
  );

  it.skipIf(reason !== undefined)("C5 what was only written can be lost, and this disk loses it", async () => {
    const seed = printedSeed(`lies on ${fileSystem}`);
    const broken: string[] = [];
    for (let round = 0; round < ROUNDS && broken.length === 0; round++) {
      broken.push(...(await roundOf(fileSystem, seed + round, true)).broken);
    }
    expect(broken).not.toEqual([]);
  });
});
