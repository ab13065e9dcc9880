// What the operator is told about a disk that comes to its reserve.

import { describe, expect, it } from "vitest";
import { DiskWatch } from "../../src/broker/disk-watch.js";
import type { OperatorLog } from "../../src/broker/options.js";
import { silentLog } from "../../src/ops/log.js";
import { startBroker } from "../../src/ops/start-broker.js";
import { connectTo, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { produce } from "../support/wire.js";

const MiB = 1024 * 1024;

/** Keeps the lines that are told, as kind and message. */
function hearing() {
  const lines: string[] = [];
  const hear = (fields: object, message: string) => void lines.push(`${(fields as { kind: string }).kind} ${message}`);
  const log: OperatorLog = { ...silentLog, info: hear, warn: hear, error: hear };
  return { lines, log };
}

const watched = (available: number) => {
  const { lines, log } = hearing();
  const space = { available, refresh: () => Promise.resolve() };
  return { lines, space, watch: new DiskWatch(space, "/data", 256 * MiB, log) };
};

describe("a disk that is smaller than its reserve", () => {
  it("is told at the start, by the name of the setting and how much is missing", async () => {
    const { lines, log } = hearing();
    const settings = { ...testSettings(tempDir("watch")), "disk.reserve.bytes": "1024TiB" };
    const broker = await startBroker({ settings, log });
    const full = () => lines.filter((line) => line.startsWith("disk.reserve-reached"));
    expect(full()).toEqual([expect.stringMatching(/disk\.reserve\.bytes \(1125899906842624\); \d+ more bytes must/)]);
    await (await connectTo(broker)).ask(produce([ascii("x")]));
    expect(full()).toHaveLength(1);
    await broker.stop();
  });

  it("is never said to have less than nothing", () => {
    const { watch } = watched(-5);
    expect([watch.availableBytes, watch.missingBytes, watch.isFull]).toEqual([0, 5 + MiB, true]);
  });
});

describe("a disk that becomes full", () => {
  it("is told at the first produce that is refused, not at the next look", () => {
    const { lines, watch } = watched(500);
    watch.begin();
    expect(lines).toEqual([]);
    watch.refused(600);
    watch.refused(600);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^disk\.reserve-reached .*disk\.reserve\.bytes/);
    expect(watch.isFull).toBe(true);
    // Of what it had 500 bytes were not enough: it is not full any more when there is enough for a while.
    expect(watch.missingBytes).toBe(MiB - 500);
  });

  it("misses what the largest request that was refused asks for, until that is not asked for any more", async () => {
    const { lines, watch } = watched(500);
    watch.refused(3 * MiB);
    watch.refused(2 * MiB);
    expect(lines[0]).toContain(`${3 * MiB - 500} more bytes must become free`);
    expect(watch.missingBytes).toBe(3 * MiB - 500);
    await watch.look();
    watch.refused(2 * MiB);
    expect(watch.missingBytes).toBe(2 * MiB - 500);
  });

  it("has room again when nothing was refused since the last look and there is enough for a while", async () => {
    const { lines, space, watch } = watched(-1);
    await watch.look();
    space.available = 500;
    await watch.look();
    space.available = 2 * MiB;
    watch.refused(600);
    await watch.look();
    expect(lines).toHaveLength(1);
    await watch.look();
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^disk\.reserve-left /);
    expect(watch.missingBytes).toBe(0);
    expect(watch.isFull).toBe(false);
  });
});
