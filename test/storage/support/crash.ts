// What a killed process leaves, without killing one: a copy of the directory as the page cache has it. And the means to look
// at files and to damage them.

import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { logName } from "../../../src/storage/segment-name.js";
import { tempDir } from "../../support/tmp.js";

/** The directory as a SIGKILL now would leave it, but for the times of its files. */
export function crashCopy(dir: string): string {
  const copy = tempDir("crashed");
  for (const name of readdirSync(dir)) if (name !== ".lock") copyFileSync(join(dir, name), join(copy, name));
  return copy;
}

/** With the times. */
export function crashCopyWithTimes(dir: string): string {
  const copy = crashCopy(dir);
  for (const name of readdirSync(copy)) {
    const { atime, mtime } = statSync(join(dir, name));
    utimesSync(join(copy, name), atime, mtime);
  }
  return copy;
}

export const files = (dir: string, ending = ""): string[] =>
  readdirSync(dir)
    .filter((name) => name !== ".lock" && name.endsWith(ending))
    .sort();

export const logPath = (dir: string, baseOffset: number): string => join(dir, logName(baseOffset));
export const sizeOf = (path: string): number => statSync(path).size;
export const bytesOf = (path: string): Buffer => readFileSync(path);

/** Overwrites bytes in place, as a person with a hex editor would. */
export function overwrite(path: string, position: number, bytes: Uint8Array): void {
  const fd = openSync(path, "r+");
  try {
    writeSync(fd, bytes, 0, bytes.length, position);
  } finally {
    closeSync(fd);
  }
}

export function flipBit(path: string, position: number, bit = 0): void {
  const fd = openSync(path, "r+");
  try {
    const byte = new Uint8Array(1);
    readSync(fd, byte, 0, 1, position);
    byte[0] ^= 1 << bit;
    writeSync(fd, byte, 0, 1, position);
  } finally {
    closeSync(fd);
  }
}
