// Arguments of the embedded log that the compiler would not let through, as a program in JavaScript may pass them.

import { expect, it } from "vitest";
import { openLog } from "../../src/log/embedded.js";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";

/** The methods of a log as such a program sees them. */
type Untyped = Record<"append" | "appendBatch" | "read" | "iterate" | "replay", (...args: unknown[]) => unknown>;

const record = ascii("a");

const CALLS: readonly [string, (log: Untyped) => unknown][] = [
  ["record 0", (log) => log.append(undefined)],
  ["record 0", (log) => log.append("text")],
  ["records", (log) => log.appendBatch(record)],
  ["records", (log) => log.appendBatch(null)],
  ["ack", (log) => log.append(record, { ack: "none" })],
  ["ack", (log) => log.append(record, { ack: 0 })],
  ["ack", (log) => log.append(record, { ack: null })],
  ["acks", (log) => log.append(record, { acks: "written" })],
  ["options", (log) => log.append(record, null)],
  ["options", (log) => log.append(record, "written")],
  ["expectedOffset", (log) => log.append(record, { expectedOffset: "0" })],
  ["from", (log) => log.read(undefined)],
  ["options", (log) => log.read(0, null)],
  ["maxbytes", (log) => log.read(0, { maxbytes: 1 })],
  ["signal", (log) => log.read(0, { signal: {} })],
  ["options", (log) => first(log.iterate(null))],
  ["from", (log) => first(log.iterate({ from: "0" }))],
  ["from", (log) => first(log.replay(null))],
  ["follow", (log) => first(log.iterate({ follow: "yes" }))],
  ["signal", (log) => first(log.iterate({ signal: 5 }))],
  ["offset", (log) => first(log.iterate({ offset: 5 }))],
];

const first = (records: unknown): Promise<unknown> => (records as AsyncGenerator<unknown>).next();

it("refuses an argument that is none by its name, and goes on", async () => {
  await using log = await openLog(tempDir());
  for (const [name, call] of CALLS) {
    let error: unknown;
    try {
      error = await call(log as unknown as Untyped);
    } catch (caught) {
      error = caught;
    }
    expect({ call: String(call), error }).toMatchObject({ error: { code: "BAD_ARGUMENT" } });
    expect(String(error)).toContain(name);
  }
  expect(log.logEndOffset).toBe(0);
  for (const ack of ["forced", "written", AckPolicy.FORCED, AckPolicy.WRITTEN] as const) {
    await log.append(record, { ack });
  }
  expect(log.logEndOffset).toBe(4);
});

it("says where no directory can be made, and why", async () => {
  // There is nothing to be made in /proc, and it says of everything there that it is missing.
  if (process.platform !== "linux") return;
  await expect(openLog("/proc/millrace/log")).rejects.toMatchObject({
    code: "STORAGE_FAILURE",
    message:
      "the log in /proc/millrace/log cannot be opened: /proc is there, and takes no new directory (mkdir /proc/millrace)",
  });
});
