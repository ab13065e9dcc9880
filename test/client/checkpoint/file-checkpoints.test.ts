// Checkpoints in a file: what is written, what is refused, what a kill leaves.

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { fileCheckpoints } from "../../../src/client/checkpoint/file.js";
import type { CheckpointPosition } from "../../../src/client/checkpoint/store.js";
import { MillraceError } from "../../../src/model/errors.js";
import { offset } from "../../../src/model/ids.js";
import { packageRoot } from "../../../src/native/load.js";
import { tempDir } from "../../support/tmp.js";

const code = (expected: string) => expect.objectContaining({ code: expected });
const at = (topic: string, partition: number, next: number, epoch = 0): CheckpointPosition => ({
  topic,
  partition,
  offset: offset(next),
  epoch,
});

describe("a checkpoint file", () => {
  it("keeps what was saved, for the next process", async () => {
    const path = join(tempDir("checkpoint"), "orders.checkpoint");
    const store = fileCheckpoints(path);
    expect(await store.load()).toEqual([]);
    await store.save([at("orders", 1, 17), at("orders", 0, 3, 2)]);
    await store.save([at("clicks", 0, 2 ** 53 - 1), at("orders", 1, 18)]);
    const kept = [at("clicks", 0, 2 ** 53 - 1), at("orders", 0, 3, 2), at("orders", 1, 18)];
    expect(await fileCheckpoints(path).load()).toEqual(kept);
    expect(await store.load()).toHaveLength(3);
  });

  it("is JSON that a person reads, in the order of topic and partition, and may be changed by hand", async () => {
    const path = join(tempDir("checkpoint"), "c");
    await fileCheckpoints(path).save([at("orders", 10, 1), at("orders", 9, 2), at("a", 0, 3, -1)]);
    expect(readFileSync(path, "utf8")).toBe(
      [
        "{",
        '  "millrace": "checkpoint",',
        '  "version": 1,',
        '  "positions": [',
        '    { "topic": "a", "partition": 0, "offset": 3, "epoch": -1 },',
        '    { "topic": "orders", "partition": 9, "offset": 2, "epoch": 0 },',
        '    { "topic": "orders", "partition": 10, "offset": 1, "epoch": 0 }',
        "  ]",
        "}",
        "",
      ].join("\n"),
    );
    writeFileSync(path, readFileSync(path, "utf8").replace('"offset": 2,', '"offset":\n 5 ,'));
    expect(await fileCheckpoints(path).load()).toContainEqual(at("orders", 9, 5));
  });

  it("leaves nothing beside itself, and keeps what other topics have", async () => {
    const dir = tempDir("checkpoint");
    const path = join(dir, "c");
    await fileCheckpoints(path).save([at("orders", 0, 1)]);
    await fileCheckpoints(path).save([at("clicks", 0, 1)]);
    expect(await fileCheckpoints(path).load()).toHaveLength(2);
    expect(readdirSync(dir)).toEqual(["c"]);
  });

  const WRONG: readonly [string, string][] = [
    ["empty", ""],
    ["whole JSON", '{ "millrace": "checkpoint", "version": 1, "posi'],
    ["begin with", '{ "name": "other" }'],
    ["begin with", "[]"],
    ["begin with", "null"],
    ["version 2", '{ "millrace": "checkpoint", "version": 2, "positions": [] }'],
    ["list", '{ "millrace": "checkpoint", "version": 1 }'],
    ...[
      ["topic", '{ "topic": "a b", "partition": 0, "offset": 1, "epoch": 0 }'],
      ["partition", '{ "topic": "a", "partition": -1, "offset": 1, "epoch": 0 }'],
      ["offset", '{ "topic": "a", "partition": 0, "offset": 1.5, "epoch": 0 }'],
      ["offset", '{ "topic": "a", "partition": 0, "offset": "1", "epoch": 0 }'],
      ["epoch", '{ "topic": "a", "partition": 0, "offset": 1 }'],
      ["topic", "null"],
      ["twice", Array(2).fill('{ "topic": "a", "partition": 0, "offset": 1, "epoch": 0 }').join()],
    ].map(([what, positions]): [string, string] => [
      what as string,
      `{ "millrace": "checkpoint", "version": 1, "positions": [${positions}] }`,
    ]),
  ];

  it.each(WRONG)(
    "that is damaged or foreign is refused by what is wrong (%s), and not overwritten",
    async (what, text) => {
      const path = join(tempDir("checkpoint"), "c");
      writeFileSync(path, text);
      for (const call of [() => fileCheckpoints(path).load(), () => fileCheckpoints(path).save([at("a", 0, 1)])]) {
        const error = (await call().catch((caught: unknown) => caught)) as MillraceError;
        expect(error).toBeInstanceOf(MillraceError);
        expect(error.code).toBe("BAD_CHECKPOINT");
        expect(error.message).toContain(path);
        expect(error.message).toContain(what);
      }
      expect(readFileSync(path, "utf8")).toBe(text);
    },
  );

  it("notices that somebody else has written it, and that it was removed", async () => {
    const path = join(tempDir("checkpoint"), "c");
    const [first, second] = [fileCheckpoints(path), fileCheckpoints(path)];
    await first.load();
    await second.load();
    await first.save([at("orders", 0, 1)]);
    await expect(second.save([at("orders", 0, 9)])).rejects.toThrow(code("CHECKPOINT_FAILED"));
    await first.save([at("orders", 0, 2)]);
    expect(await fileCheckpoints(path).load()).toEqual([at("orders", 0, 2)]);
    renameSync(path, `${path}.gone`);
    await expect(first.save([at("orders", 0, 3)])).rejects.toThrow(code("CHECKPOINT_FAILED"));
  });

  it("is whole and loses no save to another's half when two write it at once", async () => {
    const dir = tempDir("checkpoint");
    const path = join(dir, "c");
    for (let round = 0; round < 50; round++) {
      const saves = [fileCheckpoints(path), fileCheckpoints(path)].map((store) => store.save([at("orders", 0, round)]));
      for (const { reason } of (await Promise.allSettled(saves)) as PromiseRejectedResult[]) {
        if (reason !== undefined) expect(reason.message).toContain("was changed by somebody else");
      }
      expect(await fileCheckpoints(path).load()).toEqual([at("orders", 0, round)]);
    }
    expect(readdirSync(dir)).toEqual(["c"]);
  });

  it("says that it cannot be written, and can be saved to when it can", async () => {
    const dir = join(tempDir("checkpoint"), "later");
    const path = join(dir, "c");
    const store = fileCheckpoints(path);
    // Before anything was consumed whose position would have no place.
    await expect(store.load()).rejects.toThrow(code("CHECKPOINT_FAILED"));
    await expect(store.save([at("orders", 0, 1)])).rejects.toThrow(code("CHECKPOINT_FAILED"));
    const { mkdirSync } = await import("node:fs");
    mkdirSync(dir);
    await store.save([at("orders", 0, 1)]);
    expect(existsSync(path)).toBe(true);
    await expect(fileCheckpoints(dir).load()).rejects.toThrow(code("CHECKPOINT_FAILED"));
    expect(() => fileCheckpoints("")).toThrow(code("BAD_ARGUMENT"));
  });

  it("is changed where a link leads, also to nothing yet, and stays for whom it was", async () => {
    const dir = tempDir("checkpoint");
    const [link, path] = [join(dir, "link"), join(tempDir("disk"), "c")];
    symlinkSync(path, join(dir, "second"));
    symlinkSync("second", link);
    await fileCheckpoints(link).save([at("orders", 0, 1)]);
    chmodSync(path, 0o600);
    await fileCheckpoints(link).save([at("orders", 0, 2)]);
    expect(await fileCheckpoints(path).load()).toEqual([at("orders", 0, 2)]);
    expect([lstatSync(link).isSymbolicLink(), statSync(path).mode & 0o777]).toEqual([true, 0o600]);
    expect(readdirSync(dir)).toEqual(["link", "second"]);
  });

  it("is a file, and nothing that brings bytes without an end", async () => {
    for (const [path, text] of [
      ["/dev/zero", "/dev/zero is no regular file"],
      [tempDir("checkpoint"), "is a directory"],
    ] as const) {
      const refused = { code: "CHECKPOINT_FAILED", message: expect.stringContaining(text) };
      await expect(fileCheckpoints(path).load()).rejects.toMatchObject(refused);
      await expect(fileCheckpoints(path).save([at("orders", 0, 1)])).rejects.toMatchObject(refused);
    }
  });

  it("takes saves that come at once one after the other", async () => {
    const path = join(tempDir("checkpoint"), "c");
    const store = fileCheckpoints(path);
    await Promise.all(Array.from({ length: 20 }, (_, i) => store.save([at("orders", i % 4, i)])));
    expect(await fileCheckpoints(path).load()).toEqual([16, 17, 18, 19].map((next, i) => at("orders", i, next)));
  });

  it("is the old or the new one after a kill at any moment, and never goes back behind what was acknowledged", async () => {
    const dir = tempDir("checkpoint");
    const path = join(dir, "c");
    const program = join(dir, "saver.mjs");
    const source = pathToFileURL(join(packageRoot(), "src/client/checkpoint/file.ts")).pathname;
    await build({
      stdin: {
        contents: `
          import { fileCheckpoints } from ${JSON.stringify(source)};
          const store = fileCheckpoints(${JSON.stringify(path)});
          const [last] = await store.load();
          for (let next = (last?.offset ?? 0) + 1; ; next++) {
            const positions = Array.from({ length: 50 }, (_, partition) => ({ topic: "orders", partition, offset: next, epoch: 0 }));
            await store.save(positions);
            process.stdout.write(next + "\\n");
          }`,
        resolveDir: dir,
        loader: "ts",
      },
      outfile: program,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20",
    });
    let acknowledged = 0;
    for (let kill = 0; kill < 8; kill++) {
      const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
      let said = "";
      child.stdout.on("data", (chunk: Buffer) => {
        said += chunk.toString();
      });
      await once(child.stdout, "data");
      await sleep(5 + kill * 7);
      child.kill("SIGKILL");
      await once(child, "close");
      acknowledged = Math.max(acknowledged, ...said.split("\n").slice(0, -1).map(Number));
      const kept = await fileCheckpoints(path).load();
      expect(kept).toHaveLength(50);
      expect(new Set(kept.map(({ offset: next }) => next)).size).toBe(1);
      expect([acknowledged, acknowledged + 1]).toContain(kept[0]?.offset);
    }
  });
});
