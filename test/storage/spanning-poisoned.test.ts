// A batch that is written over several segments, and a failure in the middle of it: the partition is poisoned, and nothing that was taken
// for the batch stays open.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { AppendStatus, type NativeSegmentWriter, native } from "../../src/native/binding.js";
import { AppendTurn } from "../../src/storage/append-turn.js";
import { tempDir } from "../support/tmp.js";
import { until } from "../support/waiting.js";
import { files } from "./support/crash.js";
import { MODES, type Opened, open } from "./support/opened.js";

const KiB = 1024;
const payloads = (count: number): Buffer[] => Array.from({ length: count }, (_, i) => Buffer.alloc(KiB, i));

/** Segments of a directory that this process has open or mapped, a line for each time. */
function held(dir: string): string[] {
  const descriptors = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ""; // that of the listing itself
    }
  });
  const mappings = readFileSync("/proc/self/maps", "utf8").split("\n");
  return [...descriptors, ...mappings].filter((line) => line.includes(`${dir}/`) && /\.(log|tmp)\b/.test(line));
}

/** Each segment that is made from now on fails as it is told. */
function whenMade(change: (writer: NativeSegmentWriter, number: number) => void): void {
  const { createSegmentWriter } = native;
  let made = 0;
  vi.spyOn(native, "createSegmentWriter").mockImplementation(async (options) => {
    const writer = await createSegmentWriter(options);
    change(writer, made++);
    return writer;
  });
}

afterEach(() => vi.restoreAllMocks());

describe.skipIf(process.platform !== "linux").each(MODES)("a batch over four segments on %s", (mode) => {
  async function begun(): Promise<{ opened: Opened; dir: string; before: string[] }> {
    const dir = tempDir("spanning");
    const opened = await open(dir, { mode, segmentBytes: 256 * KiB });
    await opened.append(...payloads(100));
    await opened.log.force();
    return { opened, dir, before: held(dir) };
  }

  async function expectLetGo({ opened, dir, before }: Awaited<ReturnType<typeof begun>>): Promise<void> {
    await expect(opened.append(...payloads(800))).rejects.toMatchObject({ code: "STORAGE_FAILURE" });
    expect(opened.log.poisoned?.code).toBe("STORAGE_FAILURE");
    // Files are closed on a thread.
    await until("what was taken is let go of", () => held(dir).join() === before.join(), 3_000);
    expect(files(dir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    vi.restoreAllMocks();
    await opened.close();
    await until("all is let go of", () => held(dir).length === 0, 3_000);
    const again = await open(dir, { mode, segmentBytes: 256 * KiB });
    expect((await again.readAll()).slice(0, 100)).toEqual(payloads(100).map((each) => new Uint8Array(each)));
    await again.close();
  }

  it("holds nothing of it when its bytes could not be written", async () => {
    const play = await begun();
    vi.spyOn(AppendTurn.prototype, "status").mockImplementation((row) =>
      row === 1 ? AppendStatus.IO_ERROR : AppendStatus.OK,
    );
    vi.spyOn(AppendTurn.prototype, "errno").mockReturnValue(5);
    await expectLetGo(play);
  });

  it.each([0, 1, 2])("holds nothing of it when new segment %i could not be given its name", async (failing) => {
    const play = await begun();
    whenMade((writer, number) => {
      if (number !== failing) return;
      const value = (): Promise<void> => Promise.reject(Object.assign(new Error("EIO: rename"), { code: "EIO" }));
      Object.defineProperty(writer, "rename", { value });
    });
    await expectLetGo(play);
  });
});
