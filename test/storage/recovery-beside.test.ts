// Starts that find something wrong or left over beside the records: indexes, the checkpoint, partition.json, temporary files.

import { copyFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { indexName } from "../../src/storage/segment-name.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, crashCopy, files, flipBit, logPath, overwrite, sizeOf } from "./support/crash.js";
import { killedWith12 } from "./support/killed12.js";
import { type Opened, open } from "./support/opened.js";
import { payload, payloads, stored } from "./support/records.js";

describe("sealed segments", () => {
  const segment = { mode: "MAPPED", format: "crc32c", segmentBytes: 450 } as const;
  const closed = async (): Promise<string> => {
    const dir = tempDir();
    const opened = await open(dir, segment);
    for (let number = 0; number < 12; number++) await opened.append(payload(number, 100));
    await opened.close();
    return dir;
  };
  const check = async (again: Opened): Promise<void> => {
    expect(again.log.logEndOffset).toBe(12);
    expect(await again.readAll()).toEqual(payloads(0, 12, 100));
    await again.close();
  };

  it("are trusted and not read by a start: what is wrong in them shows when it is read", async () => {
    const dir = await closed();
    flipBit(logPath(dir, 4), 50);
    const again = await open(dir, segment);
    expect(again.log.recovery).toMatchObject({ clean: true, scannedBytes: 0 });
    await expect(again.readAll()).rejects.toThrow(/sum/);
    await again.close();
  });

  it.each([
    ["is missing", (path: string) => rmSync(path)],
    ["has another version", (path: string) => overwrite(path, 4, Buffer.from([9]))],
    ["has a damaged header", (path: string) => flipBit(path, 30)],
    ["is cut", (path: string) => truncateSync(path, sizeOf(path) - 1)],
    ["is empty", (path: string) => truncateSync(path, 0)],
  ])("whose index %s are scanned and get it again", async (_, damage) => {
    const dir = await closed();
    const before = bytesOf(join(dir, indexName(4)));
    damage(join(dir, indexName(4)));
    const again = await open(dir, segment);
    expect(again.log.recovery).toMatchObject({ clean: false, indexesRebuilt: 1, tornBytes: 0 });
    expect(again.events).toContainEqual(expect.objectContaining({ kind: "index.rebuilt" }));
    expect(sizeOf(join(dir, indexName(4)))).toBe(before.length);
    expect(again.log.segments().map(({ sealed }) => sealed)).toEqual([true, true, true]);
    await check(again);
  });

  it("whose index is damaged behind its header get it again when it is needed", async () => {
    const dir = await closed();
    flipBit(join(dir, indexName(4)), 75);
    const again = await open(dir, segment);
    expect(again.log.recovery.clean).toBe(true);
    expect(await again.read(6)).toEqual(payload(6, 100));
    expect(again.events).toContainEqual(expect.objectContaining({ kind: "index.rebuilt" }));
    await again.close();
    const third = await open(dir, segment);
    expect(third.events).toEqual([]);
    await check(third);
  });

  it("with damage and without index are a refusal, also when no checkpoint says how far all was durable", async () => {
    const dir = await closed();
    rmSync(join(dir, "checkpoint"));
    rmSync(join(dir, indexName(4)));
    flipBit(logPath(dir, 4), 150);
    await expect(open(dir, segment)).rejects.toMatchObject({ code: "PARTITION_DAMAGED", position: 108, offset: 5 });
  });

  it.each([0, 4, 8])("a missing segment at %i is a refusal", async (base) => {
    const dir = await closed();
    rmSync(logPath(dir, base));
    rmSync(join(dir, indexName(base)));
    await expect(open(dir, segment)).rejects.toMatchObject({ code: "PARTITION_DAMAGED" });
  });

  it("a segment file that was cut short does not match its index, and is a refusal", async () => {
    const dir = await closed();
    truncateSync(logPath(dir, 0), 300);
    await expect(open(dir, segment)).rejects.toMatchObject({ code: "PARTITION_DAMAGED", offset: 2 });
  });

  it("two segments that claim one offset are a refusal", async () => {
    const dir = await closed();
    copyFileSync(logPath(dir, 4), logPath(dir, 3));
    await expect(open(dir, segment)).rejects.toThrow(/begins before this one ends/);
  });

  it("a log restored from a copy, whose files have other times, is read once in its last segment", async () => {
    const dir = await closed();
    utimesSync(logPath(dir, 8), 1, 1);
    const again = await open(dir, segment);
    expect(again.log.recovery).toMatchObject({ clean: false, scannedBytes: 432, epochRaised: false });
    await check(again);
    expect((await open(dir, segment)).log.recovery.clean).toBe(true);
  });
});

describe("the checkpoint", () => {
  const segment = { mode: "MAPPED", format: "plain", segmentBytes: 450 } as const;
  const slot = (dir: string, at: number, position: number): void =>
    flipBit(join(dir, "checkpoint"), at * 4096 + position);

  it("with one torn slot still has the other", async () => {
    for (const torn of [0, 1]) {
      const dir = await killedWith12({ ...segment, forced: 11 });
      slot(dir, torn, 30);
      const again = await open(dir, segment);
      expect(again.log.logEndOffset).toBe(12);
      await again.close();
    }
  });

  it("with both slots damaged is a refusal: nobody can say what was durable", async () => {
    const dir = await killedWith12({ ...segment, forced: 11 });
    for (const torn of [0, 1]) slot(dir, torn, 30);
    await expect(open(dir, segment)).rejects.toThrow(/both of its slots/);
  });

  it("that is missing claims nothing, and it is said", async () => {
    const dir = await killedWith12({ ...segment, forced: 11 });
    rmSync(join(dir, "checkpoint"));
    const again = await open(dir, segment);
    expect(again.log.logEndOffset).toBe(12);
    expect(again.events).toContainEqual(expect.objectContaining({ kind: "checkpoint.missing" }));
    await again.close();
  });

  it("is written after barriers at most once a second, and covers what was forced", async () => {
    const dir = tempDir();
    const opened = await open(dir, { ...segment, segmentBytes: 100_000 });
    const written = async (): Promise<number> => {
      await opened.log.upkeep();
      await opened.log.settled();
      // Everything that the checkpoint covers is a refusal when it is missing; that is how one sees what it covers.
      for (let records = 2; records > 0; records--) {
        const copy = crashCopy(dir);
        truncateSync(logPath(copy, 0), (records - 1) * 104);
        const outcome = await open(copy, segment).then(
          (again) => again.close().then(() => "opened"),
          () => "refused",
        );
        if (outcome === "refused") return records;
      }
      return 0;
    };
    await opened.append(payload(0, 100));
    expect(await written()).toBe(0);
    await opened.log.force();
    opened.clock.ms += 1000;
    expect(await written()).toBe(1);
    await opened.append(payload(1, 100));
    await opened.log.force();
    opened.clock.ms += 999;
    expect(await written()).toBe(1);
    opened.clock.ms += 1;
    expect(await written()).toBe(2);
    await opened.close();
  });

  it("that disagrees with the records is a refusal", async () => {
    const dir = await killedWith12({ ...segment, forced: 11 });
    // Two records of 48 bytes in the place of one of 100: more offsets than the checkpoint has at its position.
    overwrite(logPath(dir, 8), 0, Buffer.concat([stored(payload(1, 48), "plain"), stored(payload(2, 48), "plain")]));
    await expect(open(dir, segment)).rejects.toMatchObject({ code: "PARTITION_DAMAGED" });
  });
});

describe("what a crash leaves beside the log", () => {
  const segment = { mode: "MAPPED", format: "crc32c", segmentBytes: 450 } as const;

  it("prepared segments, half-written files and indexes without a segment are removed", async () => {
    const dir = await killedWith12(segment);
    const left = ["next.tmp", "next-1.tmp", `${indexName(4)}.tmp`, "checkpoint.tmp", indexName(77)];
    for (const name of left) writeFileSync(join(dir, name), "left");
    const again = await open(dir, segment);
    expect(files(dir).filter((name) => left.includes(name))).toEqual([]);
    expect(again.events.filter(({ kind }) => kind === "recovery.leftover-removed").length).toBeGreaterThanOrEqual(
      left.length,
    );
    expect(await again.readAll()).toEqual(payloads(0, 12, 100));
    await again.close();
  });

  it("files that are not ours are left alone, and said", async () => {
    const dir = await killedWith12(segment);
    writeFileSync(join(dir, "notes.txt"), "mine");
    const again = await open(dir, segment);
    expect(again.events).toContainEqual(
      expect.objectContaining({ kind: "file.foreign", path: join(dir, "notes.txt") }),
    );
    await again.close();
    expect(bytesOf(join(dir, "notes.txt")).toString()).toBe("mine");
  });

  it("an empty segment after a full one is the active one", async () => {
    const dir = await killedWith12(segment);
    writeFileSync(logPath(dir, 12), "");
    const again = await open(dir, segment);
    expect(again.log.segments()).toHaveLength(4);
    expect(await again.append(payload(12, 100))).toBe(12);
    expect(await again.readAll()).toEqual(payloads(0, 13, 100));
    await again.close();
  });

  it("an empty segment behind a gap goes away, and the epoch says that something is missing", async () => {
    const dir = await killedWith12(segment);
    writeFileSync(logPath(dir, 20), "");
    const again = await open(dir, segment);
    expect(files(dir, ".log")).toHaveLength(3);
    expect([again.log.logEndOffset, again.log.epoch, again.log.recovery.tornFiles]).toEqual([12, 1, []]);
    await again.close();
  });

  it("a partition that was made and never written is found as it was, at no cost", async () => {
    const dir = tempDir();
    await (await open(dir, segment)).close();
    const killed = crashCopy(dir);
    for (const there of [dir, killed]) {
      const again = await open(there, segment);
      expect(again.log.recovery.clean).toBe(true);
      expect([again.log.epoch, again.log.logEndOffset]).toEqual([0, 0]);
      expect(await again.append(payload(0, 10))).toBe(0);
      await again.close();
    }
  });

  it("a partition whose making was cut off is made", async () => {
    const dir = tempDir();
    writeFileSync(join(dir, "partition.json"), '{"version":1,"recordFormat":"plain"}\n');
    const opened = await open(dir);
    expect(opened.log.recordFormat).toBe("plain");
    expect(await opened.append(payload(0, 10))).toBe(0);
    await opened.close();
  });
});

describe("partition.json", () => {
  it("that is missing beside segments is a refusal", async () => {
    const dir = await killedWith12({ format: "plain" });
    rmSync(join(dir, "partition.json"));
    await expect(open(dir)).rejects.toMatchObject({ code: "PARTITION_DAMAGED", path: join(dir, "partition.json") });
  });

  it.each(["", "{}", '{"version":1,"recordFormat":"avro"}', '{"version":2,"recordFormat":"plain"}', "[]", "null"])(
    "that says %s is a refusal",
    async (text) => {
      const dir = await killedWith12({ format: "plain" });
      writeFileSync(join(dir, "partition.json"), text);
      await expect(open(dir)).rejects.toMatchObject({ code: "PARTITION_DAMAGED" });
    },
  );

  it("decides the format for good: none asked for keeps it, another one is a refusal", async () => {
    const dir = tempDir();
    await (await open(dir, { format: "plain" })).close();
    const again = await open(dir);
    expect(again.log.recordFormat).toBe("plain");
    await again.close();
    await expect(open(dir, { format: "crc32c" })).rejects.toMatchObject({ code: "BAD_CONFIG" });
    await (await open(dir, { format: "plain" })).close();
  });

  it("of a new partition says crc32c when nobody asked for anything", async () => {
    const opened = await open(tempDir());
    expect(opened.log.recordFormat).toBe("crc32c");
    await opened.close();
  });
});
