// Is an ELF file (what Linux loads) all there? The dynamic linker maps what the headers name without a look at the length of the file: of one that
// was cut by a full disk or a broken download the first touch of a page beyond its end kills the process by SIGBUS, without a word. Knows nothing of
// millrace.
//
// ELF, System V ABI, chapter 4 (64 bit; in the byte order that the fifth byte names):
//   file header: 0 "\x7fELF" · 4 class · 5 data · 32 u64 e_phoff · 40 u64 e_shoff · 54 u16 e_phentsize · 56 u16 e_phnum · 58 u16 e_shentsize · 60 u16 e_shnum
//   program header: 8 u64 p_offset · 32 u64 p_filesz

import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const HEADER_BYTES = 64;
const CLASS_64 = 2;
const LITTLE_ENDIAN = 1;
const PROGRAM_HEADER_BYTES = 56;

/** What is wrong with the file at `path`, or undefined: what is not ELF of 64 bits is left to the linker. Throws what `open` and `read` throw. */
export function lackOfElf(path: string): string | undefined {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const header = read(file, 0, HEADER_BYTES);
    if (header.length < HEADER_BYTES) return `it has only ${size} bytes`;
    if (header.toString("latin1", 0, 4) !== "\x7fELF") return "it is no ELF file";
    if (header[4] !== CLASS_64) return undefined;
    const needed = extentOf(file, header, size);
    return needed > size ? `it is cut off: it has ${size} bytes of at least ${needed}` : undefined;
  } finally {
    closeSync(file);
  }
}

/** The end of what the headers say is in the file, or any that is beyond `size`. */
function extentOf(file: number, header: Buffer, size: number): number {
  const { u16, u64 } = readers(header, header[5] === LITTLE_ENDIAN);
  const [programs, sections] = [u64(32), u64(40)];
  const [programBytes, programCount, sectionBytes, sectionCount] = [u16(54), u16(56), u16(58), u16(60)];
  let end = Math.max(HEADER_BYTES, programs + programBytes * programCount, sections + sectionBytes * sectionCount);
  // No memory for a table that is not there: it would be as large as a number in a broken file says, up to 4 GiB.
  if (programBytes < PROGRAM_HEADER_BYTES || end > size) return end;
  const table = read(file, programs, programBytes * programCount);
  const entries = readers(table, header[5] === LITTLE_ENDIAN);
  for (let at = 0; at + PROGRAM_HEADER_BYTES <= table.length; at += programBytes) {
    end = Math.max(end, entries.u64(at + 8) + entries.u64(at + 32));
  }
  return end;
}

function readers(bytes: Buffer, little: boolean) {
  return {
    u16: (at: number): number => (little ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at)),
    u64: (at: number): number => Number(little ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at)),
  };
}

/** At most `length` bytes, fewer at the end of the file. */
function read(file: number, position: number, length: number): Buffer {
  if (!Number.isSafeInteger(position)) return Buffer.alloc(0);
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, position));
}
