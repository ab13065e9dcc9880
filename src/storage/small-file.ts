// Reads a file of a few lines, whole. Not by `readFile` of Node: it takes a read that brings less than the file's size for the file's end, and a
// partition would be refused for half of its partition.json. (Local file systems seldom read short; those over a network do.)

import { SMALL_FILE_BYTES_MAX } from "../model/limits.js";
import { native } from "../native/binding.js";

/** What is beyond the bound is left out: no file of ours is longer, and what is in it then is no JSON either way. */
export async function readSmallFile(path: string): Promise<string> {
  const file = await native.openFile(path, { writable: false });
  try {
    const bytes = Buffer.alloc(Math.min(file.size(), SMALL_FILE_BYTES_MAX));
    return bytes.toString("utf8", 0, await file.readAsync(bytes, 0));
  } finally {
    file.close();
  }
}
