// The sweep's model and its oracle: the model agrees with what a log has, and the oracle finds every kind of broken product that is put before it.

import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { inTurns } from "../../faults/lib/in-turns.js";
import { loadPackage, productOf } from "../../faults/lib/product.js";
import { Random } from "../../faults/lib/random.js";
import { applyDamage, type Damage, damagesOf, groupOf, lastBatchFrom } from "../../faults/rungs/format-sweep/damage.js";
import { modelLog, payloadsOfSegment, readCheckpoint, walkSegment } from "../../faults/rungs/format-sweep/model.js";
import { expected, floorOf, judge, type OpenLog } from "../../faults/rungs/format-sweep/oracle.js";
import { makeShapes, type Shape } from "../../faults/rungs/format-sweep/shapes.js";
import { layDown, logsOf } from "../../faults/rungs/format-sweep/snapshot.js";
import type { Log } from "../../src/log/embedded.js";
import { MillraceError } from "../../src/model/errors.js";
import { root } from "../rules/sources.js";
import { printedSeed } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";

const product = productOf(root);
let openLog: OpenLog;
let shapes: Shape[];
let dir: string;

beforeAll(async () => {
  ({ openLog } = await loadPackage(product));
  dir = tempDir("sweep");
  const made = [
    makeShapes(product, join(dir, "m"), "MAPPED", "crc32c", new Random(1)),
    makeShapes(product, join(dir, "f"), "FILE_CHANNEL", "plain", new Random(2)),
  ];
  shapes = (await Promise.all(made)).flat();
});

const shapeOf = (name: string): Shape => shapes.find((shape) => shape.name.startsWith(`${name},`))!;

async function judged(shape: Shape, damage: Damage, open: OpenLog = openLog) {
  const damaged = applyDamage(shape, damage, new Random(3));
  const at = join(dir, "judged");
  layDown(at, damaged);
  return judge(open, at, shape, expected(shape, damage, damaged), true);
}

describe("the sweep's model", () => {
  it("has every record of every shape, and knows what its checkpoint says", () => {
    for (const shape of shapes) {
      const logs = logsOf(shape.after);
      const payloads = logs.flatMap((log) => payloadsOfSegment(shape.after.get(log)!.bytes, shape.format));
      expect(
        payloads.map((each) => Uint8Array.from(each)),
        shape.name,
      ).toEqual(shape.truth.slice(shape.logStartOffset));
      expect(modelLog(shape.after, shape.format).end, shape.name).toBe(shape.truth.length);
      expect(floorOf(shape)).toBeLessThanOrEqual(shape.truth.length);
    }
    const closed = shapeOf("closed");
    expect(readCheckpoint(closed.after.get("checkpoint"))?.durableOffset).toBe(closed.truth.length);
    expect(floorOf(shapeOf("behind a checkpoint"))).toBeGreaterThanOrEqual(3);
    expect(floorOf(shapeOf("sealed segments"))).toBeGreaterThan(0);
    expect(shapeOf("behind retention").logStartOffset).toBeGreaterThan(0);
    expect(logsOf(shapeOf("unsealed segments").after).length).toBeGreaterThan(2);
  });

  it("lists damages of every kind, each bit of the last batch among them", () => {
    const shape = shapeOf("over sectors");
    const [log] = logsOf(shape.after);
    const damages = damagesOf(shape);
    const from = lastBatchFrom(shape, log);
    const { end } = walkSegment(shape.after.get(log)!.bytes, shape.format);
    const flips = damages.filter((damage) => damage.kind === "flip" && damage.file === log && damage.bit >= from * 8);
    expect(flips).toHaveLength((end - from) * 8);
    const cuts = damages.filter(
      (damage) => damage.kind === "cut" && damage.file === log && damage.checkpoint === undefined,
    );
    expect(cuts).toHaveLength(end + 1);
    expect(damages.filter((damage) => damage.kind === "sectors" && damage.hits.length === 2).length).toBeGreaterThan(
      50,
    );
    for (const file of ["checkpoint", "partition.json"]) {
      expect(damages.filter((damage) => damage.kind === "flip" && damage.file === file).length).toBeGreaterThan(100);
    }
  });
});

describe("the sweep's order", () => {
  it("comes to one of each group first, the small ones as well", () => {
    const drawn = (seed: number) => ({ random: new Random(seed) });
    const groups = [[5, 1, 9, 7].map(drawn), [8].map(drawn), [3, 6].map(drawn)];
    expect(inTurns(groups).map(({ random }) => random.seed)).toEqual([1, 3, 8, 5, 6, 7, 9]);
  });

  it("has the entries of an index, its header, and a file that was touched in groups of their own", () => {
    const shape = shapeOf("closed");
    const file = logsOf(shape.after).at(-1)!;
    const index = file.replace(".log", ".index");
    const alike: Damage[] = [
      { kind: "flip", file: index, bit: 8 * 20 },
      { kind: "flip", file: index, bit: 8 * 90 },
      { kind: "flip", file, bit: 8 },
      { kind: "flip", file, bit: 8, touched: true },
      { kind: "touch", file },
      { kind: "remove", file },
    ];
    expect(new Set(alike.map((damage) => groupOf(shape, damage))).size).toBe(alike.length);
    const listed = damagesOf(shape).map((damage) => groupOf(shape, damage));
    expect(listed).toEqual(expect.arrayContaining(alike.map((damage) => groupOf(shape, damage))));
  });
});

describe("the sweep's oracle", () => {
  it("is content with the product on random damages", async () => {
    const seed = printedSeed("format sweep");
    const random = new Random(seed);
    const all = shapes.flatMap((shape) => damagesOf(shape).map((damage) => ({ shape, damage })));
    for (let round = 0; round < 60; round++) {
      const { shape, damage } = random.pick(all);
      const { wrong } = await judged(shape, damage);
      expect(wrong, `${shape.name}: ${JSON.stringify(damage)}`).toBeUndefined();
    }
  });

  it("wants a checkpoint refused whose place lies beside the records, in every shape that has one", async () => {
    const all = shapes.flatMap((shape) =>
      damagesOf(shape).flatMap((damage) => (damage.kind === "misplace" ? [{ shape, damage }] : [])),
    );
    expect(all.length).toBeGreaterThan(8);
    for (const { shape, damage } of all) {
      expect(await judged(shape, damage), `${shape.name}: ${damage.by}`).toEqual({
        outcome: "refused",
        recordsRead: 0,
      });
    }
  });

  /** A log that is not as it says it is. */
  const lying =
    (lie: (log: Log) => Partial<Log>): OpenLog =>
    async (at, options) => {
      const log = await openLog(at, options);
      const lies = lie(log);
      return new Proxy(log, {
        get: (target, name) => {
          const value: unknown = name in lies ? lies[name as keyof Log] : Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    };
  const refusing =
    (message: (at: string) => string, code: "PARTITION_DAMAGED" | "CLOSED" = "PARTITION_DAMAGED"): OpenLog =>
    (at) =>
      Promise.reject(new MillraceError(code, message(at)));

  it("finds a loss, a record that is made up, one that comes late, and a beginning that is another", async () => {
    const shape = shapeOf("small");
    const [file] = logsOf(shape.after);
    const torn: Damage = { kind: "flip", file, bit: lastBatchFrom(shape, file) * 8 + 200 };
    expect((await judged(shape, torn)).wrong).toBeUndefined();
    const less = lying((log) => ({ logEndOffset: (log.logEndOffset - 1) as Log["logEndOffset"] }));
    expect((await judged(shape, torn, less)).wrong).toContain("SILENT LOSS");
    const more = lying((log) => ({ logEndOffset: (log.logEndOffset + 1) as Log["logEndOffset"] }));
    expect((await judged(shape, torn, more)).wrong).toContain("only");
    const begins = lying(() => ({ logStartOffset: 1 as Log["logStartOffset"] }));
    expect((await judged(shape, torn, begins)).wrong).toContain("begins at");
    const made = lying((log) => ({
      read: async (from) => {
        const read = await log.read(from);
        const records = read.records.map((record) => ({ ...record, payload: record.payload.map((byte) => byte ^ 1) }));
        return { ...read, records };
      },
    }));
    expect((await judged(shape, torn, made)).wrong).toContain("not what was written");
    const late = lying((log) => ({
      append: async (record) => ((await log.append(record)) + 1) as Awaited<ReturnType<Log["append"]>>,
    }));
    expect((await judged(shape, torn, late)).wrong).toContain("the next record got");
  });

  it("finds a refusal where there is no reason for one, and one that gives none", async () => {
    const shape = shapeOf("small");
    const [file] = logsOf(shape.after);
    const torn: Damage = { kind: "cut", file, at: lastBatchFrom(shape, file) + 3 };
    expect(
      (
        await judged(
          shape,
          torn,
          refusing((at) => `${at} is damaged`),
        )
      ).wrong,
    ).toContain("it refused");
    const below: Damage = { kind: "remove", file: "partition.json" };
    expect(
      (
        await judged(
          shape,
          below,
          refusing((at) => `${at} is damaged`),
        )
      ).wrong,
    ).toBeUndefined();
    expect(
      (
        await judged(
          shape,
          below,
          refusing(() => "something is damaged"),
        )
      ).wrong,
    ).toContain("names no file");
    expect(
      (
        await judged(
          shape,
          below,
          refusing((at) => at, "CLOSED"),
        )
      ).wrong,
    ).toContain("without a reason");
  });

  it("finds a last segment that is believed unread although somebody touched it after a clean stop", async () => {
    const shape = shapeOf("closed");
    const file = logsOf(shape.after).at(-1)!;
    const damage: Damage = { kind: "flip", file, bit: 8 * 20, touched: true };
    expect((await judged(shape, damage)).outcome).toBe("refused");
    expect(await judged(shape, { kind: "touch", file })).toMatchObject({ outcome: "opened", wrong: undefined });
    // As a product that does not look at the time of the file.
    const trusting: OpenLog = (at, options) => {
      layDown(at, applyDamage(shape, { kind: "flip", file, bit: 8 * 20 }, new Random(3)));
      return openLog(at, options);
    };
    expect((await judged(shape, damage, trusting)).wrong).toContain("not as it was when it was closed");
  });

  it("finds a sealed segment that is believed although it is shorter than its index says", async () => {
    const shape = shapeOf("sealed segments");
    const [file] = logsOf(shape.after);
    for (const at of [0, 1, 704, 705]) {
      const cut: Damage = { kind: "cut", file, at };
      expect((await judged(shape, cut)).outcome, String(at)).toBe("refused");
      const trusting: OpenLog = (dirOfIt, options) => {
        layDown(dirOfIt, shape.after);
        return openLog(dirOfIt, options);
      };
      expect((await judged(shape, cut, trusting)).wrong).toContain("shorter than its index says");
    }
  });

  it("finds an index that leads to another record", async () => {
    const shape = shapeOf("sealed segments");
    const [file] = logsOf(shape.after);
    const damage: Damage = { kind: "flip", file: file.replace(".log", ".index"), bit: 8 * 85 };
    expect((await judged(shape, damage)).wrong).toBeUndefined();
    const astray = lying((log) => ({
      read: (from, options) => log.read(from === 1 && options?.maxBytes === 1 ? 2 : from, options),
    }));
    expect((await judged(shape, damage, astray)).wrong).toContain("at 1 there is another record");
  });

  it("takes a refusal of a gap behind a sealed segment, also where the checkpoint does not reach it", () => {
    const shape = shapeOf("sealed segments");
    const [first, second, third] = logsOf(shape.after);
    const damage: Damage = { kind: "remove", file: second };
    // As just after a roll: the second one has no index yet, and no checkpoint says that it is durable.
    const unsealed = logsOf(shape.after).map((log) => log.replace(".log", ".index"));
    const kept = [...shape.after].filter(
      ([name]) => name === first.replace(".log", ".index") || (name !== "checkpoint" && !unsealed.includes(name)),
    );
    const young: Shape = { ...shape, after: new Map(kept) };
    expect(expected(young, damage, applyDamage(young, damage, new Random(3)))).toMatchObject({
      mayRefuse: true,
      mayNotOpen: undefined,
    });
    const behind: Damage = { kind: "remove", file: third };
    expect(expected(young, behind, applyDamage(young, behind, new Random(3))).mayRefuse).toBe(false);
  });

  it("finds a loss below the checkpoint that is not told", async () => {
    const shape = shapeOf("behind a checkpoint");
    const [file] = logsOf(shape.after);
    const cut: Damage = { kind: "cut", file, at: 20 };
    expect((await judged(shape, cut)).outcome).toBe("refused");
    // As a product that cuts what it finds: the checkpoint is forgotten before it looks.
    const forgetful: OpenLog = async (at, options) => {
      const damaged = applyDamage(shape, cut, new Random(3));
      layDown(at, new Map([...damaged].filter(([name]) => name !== "checkpoint")));
      return openLog(at, options);
    };
    expect((await judged(shape, cut, forgetful)).wrong).toContain("SILENT LOSS");
  });
});
