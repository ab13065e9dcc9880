// What lines say of failures that the system has a name for.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ClosingTrouble } from "../../src/broker/closing-trouble.js";
import { foreseen } from "../../src/broker/foreseen.js";
import { storageEvents } from "../../src/broker/storage-events.js";
import { MillraceError } from "../../src/model/errors.js";
import { silentLog } from "../../src/ops/log.js";
import { NoRoomError, withoutBatch, writeFailed } from "../../src/storage/damage.js";
import { tempDir } from "../support/tmp.js";

const failure = async () => readFile(join(tempDir("gone"), "x")).catch((error: unknown) => error);

it("a failure of the system is told by its name and sentence, without where it was met", async () => {
  expect(foreseen(await failure())).toEqual({ code: "ENOENT", message: expect.stringMatching(/^ENOENT: .*open/) });
  expect(foreseen(writeFailed("/x/y.log", 28))).toEqual({
    code: "ENOSPC",
    message: "ENOSPC: a write to /x/y.log failed",
  });
});

it("what nobody foresaw, and what is named already, stays as it is", () => {
  for (const error of [new TypeError("x"), new MillraceError("LOG_FULL", "y"), "z", undefined])
    expect(foreseen(error)).toBe(error);
});

it("storage's events have it so", async () => {
  const lines: object[] = [];
  const tell = storageEvents({ ...silentLog, warn: (fields) => void lines.push(fields) });
  const event = {
    level: "warn",
    dir: "/d",
    message: "m",
    kind: "checkpoint.write-failed",
    path: "/d/checkpoint",
  } as const;
  tell({ ...event, cause: await failure() });
  expect(lines).toMatchObject([{ kind: "checkpoint.write-failed", err: { code: "ENOENT" } }]);
  expect(lines[0]).not.toHaveProperty("err.stack");
});

it("a partition that could not be closed cleanly has a named reason", () => {
  const trouble = new ClosingTrouble();
  const hear = trouble.hears(() => undefined);
  trouble.begin();
  hear({
    level: "warn",
    dir: "/d",
    message: "m",
    kind: "index.write-failed",
    path: "/d/i",
    cause: new Error("ENOSPC: x"),
  });
  expect(() => trouble.throwFor("/d")).toThrow(MillraceError);
});

it("want of room ahead of the writers says nothing of a batch that was not there", () => {
  const cause = new Error("ENOSPC: x");
  const told = withoutBatch(new NoRoomError("/d", 5, cause));
  expect(told).toMatchObject({ code: "LOG_FULL", message: "no room on the disk of /d", cause });
  expect(withoutBatch(cause)).toBe(cause);
});
