// Loads on servers that run beside each other: closed loop, the ceiling they have in common, and the open loop at a pace. Both are the floor
// here: what is tested is the loading.

import { beforeAll, describe, expect, it } from "vitest";
import { buildTools } from "../../bench/build.mjs";
import { closedCase, commonCeiling, openCase, withEndpoints } from "../../bench/lib/endpoints.js";
import { measureCase } from "../../bench/lib/figures.js";
import { serverKinds, usual } from "../../bench/lib/servers.js";
import type { Stand } from "../../bench/lib/stand.js";
import { Tools } from "../../bench/lib/tools.js";
import { tempDir } from "../support/tmp.js";

const flags = { connections: 4, depth: 2, records: 1, size: 128, ack: "written" };
const load = { label: "work", flush: "WRITTEN", flags, seconds: 0.5 };

describe.skipIf(process.platform !== "linux")("endpoints", () => {
  let stand: Stand;

  beforeAll(async () => {
    const tools = new Tools(await buildTools());
    const directory = tempDir("endpoints");
    stand = { tools, directory, root: process.cwd(), quick: true, rounds: 1, progress: () => undefined };
  }, 180_000);

  const floors = serverKinds.slice(1).flatMap((kind) => [
    { ...kind, name: "one" },
    { ...kind, name: "other" },
  ]);

  it("are loaded as fast as they go, and at the pace that is asked for", async () => {
    await withEndpoints(
      stand,
      usual,
      async (endpoints) => {
        expect(endpoints.map(({ name }) => name)).toEqual(["one", "other"]);
        const closed = await measureCase(closedCase(stand, endpoints, load), 1);
        expect(closed.unit).toBe("requests/s");
        const ceiling = await commonCeiling(stand, endpoints, load);
        expect(ceiling).toBeGreaterThan(500);

        const open = await measureCase(openCase(stand, endpoints, load, 500), 1);
        for (const side of open.sides) {
          expect(side.details["requests/s"]).toBeGreaterThan(250);
          expect(side.details["requests/s"]).toBeLessThan(550);
          expect(side.value.median).toBe(side.latency?.p99Us);
          expect(side.command).toContain("--rate 500");
        }
        expect(open.unit).toBe("µs");
        const bare = { name: "bare", command: "", measure: async () => ({ value: 1, details: {} }) };
        expect(openCase(stand, endpoints, load, 500, bare).sides.map(({ name }) => name)).toEqual([
          "one",
          "other",
          "bare",
        ]);
      },
      floors,
    );
  }, 60_000);
});
