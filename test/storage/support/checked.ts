// A closed partition, and what verify and repair find in one.

import { type RepairStep, repairPartition } from "../../../src/storage/repair.js";
import { type Finding, verifyPartition } from "../../../src/storage/verify.js";
import { tempDir } from "../../support/tmp.js";
import { MovedClock } from "./deps.js";
import { open, type TestOptions } from "./opened.js";
import { payload } from "./records.js";

export const verify = async (dir: string): Promise<Finding[]> => collect(verifyPartition(dir));
export const repair = async (dir: string): Promise<RepairStep[]> => collect(repairPartition(dir, new MovedClock()));
export const damage = async (dir: string): Promise<Finding[]> =>
  (await verify(dir)).filter(({ kind }) => kind === "damage");

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Three segments of 4 records each, closed cleanly. */
export async function closed(options: TestOptions = {}): Promise<string> {
  const dir = tempDir();
  const opened = await open(dir, { segmentBytes: 450, indexIntervalBytes: 100, ...options });
  for (let number = 0; number < 12; number++) await opened.append(payload(number, 100));
  await opened.close();
  return dir;
}
