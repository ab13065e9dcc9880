// Files, names and the lock through the boundary.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { type NativeFile, native } from "../../src/native/binding.js";
import { tempDir } from "../support/tmp.js";

const typeError = expect.objectContaining({ name: "TypeError" });
const outOfRange = expect.objectContaining({ code: "ERR_OUT_OF_RANGE" });

async function open(path: string, options = { writable: true, create: true }): Promise<NativeFile> {
  const file = await native.openFile(path, options);
  onTestFinished(() => file.close());
  return file;
}

it("reads and writes at positions, at once and on a thread", async () => {
  const path = join(tempDir("file"), "f");
  const file = await open(path);
  await file.write(new TextEncoder().encode("hello world"), 5, false);
  await file.write(Uint8Array.of(33), 16, true);
  expect(file.size()).toBe(17);
  const into = new Uint8Array(100);
  expect(file.read(into.subarray(10, 15), 11)).toBe(5);
  expect(new TextDecoder().decode(into.subarray(10, 15))).toBe("world");
  expect(await file.readAsync(into, 5)).toBe(12);
  expect(new TextDecoder().decode(into.subarray(0, 12))).toBe("hello world!");
  expect(file.read(into, 17)).toBe(0);
  expect(await file.readAsync(into, 100)).toBe(0);
  expect(await file.readAsync(new Uint8Array(0), 0)).toBe(0);
});

it("bytes to write are taken when the call is made, not when it is carried out", async () => {
  const path = join(tempDir("file"), "f");
  const file = await open(path);
  const bytes = new Uint8Array(1 << 20).fill(1);
  const written = file.write(bytes, 0, false);
  bytes.fill(2);
  await written;
  expect(readFileSync(path).every((byte) => byte === 1)).toBe(true);
});

it("a buffer that is given away during a read is not written to", async () => {
  const path = join(tempDir("file"), "f");
  writeFileSync(path, "x".repeat(1000));
  const file = await open(path);
  const into = new Uint8Array(1000);
  const reading = file.readAsync(into, 0);
  const taken = structuredClone(into.buffer, { transfer: [into.buffer] });
  expect(await reading).toBe(0);
  expect(new Uint8Array(taken).every((byte) => byte === 0)).toBe(true);
});

it("closing is idempotent, does not disturb what is under way, and ends everything else", async () => {
  const path = join(tempDir("file"), "f");
  writeFileSync(path, "x".repeat(1000));
  const file = await open(path);
  const into = new Uint8Array(1000);
  const reading = file.readAsync(into, 0);
  const syncing = file.sync();
  file.close();
  file.close();
  expect(file.isOpen).toBe(false);
  expect(file.path).toBe(path);
  expect(await reading).toBe(1000);
  await syncing;
  for (const use of [
    () => file.size(),
    () => file.allocatedBytes(),
    () => file.read(into, 0),
    () => file.readAsync(into, 0),
    () => file.write(into, 0, false),
    () => file.walk(0, 0, 1, 1, 0),
    () => file.walkAsync(0, 0, 1, 1),
    () => file.scan(0, 0, 1, 1),
    () => file.sync(),
    () => file.dropCache(0),
    () => file.truncate(0),
  ]) {
    expect(use).toThrow(expect.objectContaining({ code: "ERR_CLOSED" }));
  }
});

it.skipIf(process.platform !== "linux")(
  "a file whose work is done has closed its descriptor when close returns",
  async () => {
    const path = join(tempDir("file"), "f");
    writeFileSync(path, "x".repeat(1000));
    const descriptors = () =>
      readdirSync("/proc/self/fd").filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`) === path;
        } catch {
          return false; // the one that lists them
        }
      });
    for (let round = 0; round < 100; round++) {
      const file = await native.openFile(path, { writable: true });
      await Promise.all([file.scan(0, 0, 1000, 4096), file.readAsync(new Uint8Array(10), 0), file.sync()]);
      file.close();
      expect(descriptors()).toEqual([]);
    }
  },
);

it("truncates, and leaves room for what was there to be read again", async () => {
  const path = join(tempDir("file"), "f");
  writeFileSync(path, "x".repeat(1000));
  const file = await open(path);
  await file.truncate(10);
  expect(file.size()).toBe(10);
  await file.truncate(20);
  expect(readFileSync(path).subarray(10)).toEqual(Buffer.alloc(10));
});

it("counts the barriers of files and directories", async () => {
  const dir = tempDir("file");
  const file = await open(join(dir, "f"));
  const before = native.barrierCount();
  await file.sync();
  await native.syncDirectory(dir);
  await file.write(Uint8Array.of(1), 0, true);
  await native.replaceFile(join(dir, "g"), Uint8Array.of(1));
  expect(native.barrierCount()).toBe(before + 5);
});

it("a failed call is an error with code, errno, syscall and path", async () => {
  const dir = tempDir("file");
  const missing = join(dir, "missing", "f");
  const failed = (syscall: string, path = missing) => ({ code: "ENOENT", errno: -2, syscall, path });
  await expect(native.openFile(missing, { writable: false })).rejects.toMatchObject(failed("open"));
  await expect(native.renameFile(missing, join(dir, "x"))).rejects.toMatchObject(failed("rename"));
  await expect(native.unlinkFile(missing)).rejects.toMatchObject(failed("unlink"));
  await expect(native.syncDirectory(missing)).rejects.toMatchObject(failed("open"));
  await expect(native.freeBytes(missing)).rejects.toMatchObject(failed("statvfs"));
  await expect(native.replaceFile(missing, new Uint8Array(1))).rejects.toMatchObject(failed("open", `${missing}.tmp`));
  expect(() => native.isMemoryFileSystem(missing)).toThrow(expect.objectContaining(failed("statfs")));
  expect(() => native.lockFile(missing)).toThrow(expect.objectContaining(failed("open")));
  writeFileSync(join(dir, "f"), "x");
  const file = await open(join(dir, "f"), { writable: false, create: false });
  await expect(file.write(Uint8Array.of(1), 0, false)).rejects.toMatchObject({ code: "EBADF", syscall: "pwrite" });
  const directory = await native.openFile(dir, { writable: false });
  expect(() => directory.read(new Uint8Array(1), 0)).toThrow(expect.objectContaining({ code: "EISDIR", path: dir }));
  directory.close();
});

it("renames, replaces and removes", async () => {
  const dir = tempDir("file");
  writeFileSync(join(dir, "a"), "1");
  await native.renameFile(join(dir, "a"), join(dir, "b"));
  await native.replaceFile(join(dir, "b"), new TextEncoder().encode("22"));
  expect(readFileSync(join(dir, "b"), "utf8")).toBe("22");
  await native.unlinkFile(join(dir, "b"));
  expect(readdirSync(dir)).toEqual([]);
});

it("a rename onto a directory fails and the temporary file goes", async () => {
  const dir = tempDir("file");
  mkdirSync(join(dir, "d"));
  await expect(native.replaceFile(join(dir, "d"), Uint8Array.of(1))).rejects.toMatchObject({ syscall: "rename" });
  expect(readdirSync(dir)).toEqual(["d"]);
});

it("wrong arguments are refused at once", async () => {
  const file = await open(join(tempDir("file"), "f"));
  const any = (value: unknown) => value as never;
  const bytes = new Uint8Array(4);
  expect(() => file.read(any("x"), 0)).toThrow(typeError);
  expect(() => file.read(any(bytes.buffer), 0)).toThrow(typeError);
  expect(() => file.read(any(new Uint16Array(4)), 0)).toThrow(typeError);
  expect(() => file.read(bytes, -1)).toThrow(outOfRange);
  expect(() => file.read(bytes, 0.5)).toThrow(outOfRange);
  expect(() => file.read(bytes, Number.NaN)).toThrow(outOfRange);
  expect(() => file.read(bytes, 2 ** 53)).toThrow(outOfRange);
  expect(() => file.read(bytes, any(1n))).toThrow(typeError);
  expect(() => file.write(bytes, 0, any(1))).toThrow(typeError);
  expect(() => file.walk(any(2), 0, 0, 0, 0)).toThrow(outOfRange);
  expect(() => file.walk(0, 0, -1, 0, 0)).toThrow(outOfRange);
  expect(() => file.scan(0, 0, 2 ** 32, 1)).toThrow(outOfRange);
  expect(() => file.scan(0, 0, 0, 0)).toThrow(outOfRange);
  expect(() => file.truncate(-1)).toThrow(outOfRange);
  expect(() => native.openFile(any(undefined), { writable: true })).toThrow(typeError);
  expect(() => native.openFile("x", any(undefined))).toThrow(typeError);
  expect(() => native.openFile("x", any({}))).toThrow(typeError);
  expect(() => native.openFile("", { writable: true })).toThrow(typeError);
  expect(() => native.unlinkFile("a\0b")).toThrow(typeError);
  expect(() => native.configurePools({ barriers: 0 })).toThrow(outOfRange);
  expect(() => native.configurePools({ reads: 1000 })).toThrow(outOfRange);
  expect(() => native.configurePools(any(null))).toThrow(typeError);
  native.configurePools({});
  native.configurePools({ barriers: 8, reads: 4, maintenance: 2 });
});

it("O05 a lock is held once and names its holder, and goes when it is released", () => {
  const path = join(tempDir("lock"), ".lock");
  const lock = native.lockFile(path);
  expect(readFileSync(path, "utf8")).toBe(`${process.pid}\n`);
  const held = expect.objectContaining({ code: "ELOCKED", pid: process.pid, path });
  expect(() => native.lockFile(path)).toThrow(held);
  lock.release();
  lock.release();
  native.lockFile(path).release();
  expect(existsSync(path)).toBe(true);
});

it("O05 a lock of another process names that process, and goes when it is killed", async () => {
  const path = join(tempDir("lock"), ".lock");
  const script = fileURLToPath(new URL("support/hold-lock.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, path], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  expect(() => native.lockFile(path)).toThrow(expect.objectContaining({ code: "ELOCKED", pid: child.pid }));
  child.kill("SIGKILL");
  await once(child, "exit");
  native.lockFile(path).release();
});

it("knows what the machine has", async () => {
  const dir = tempDir("facts");
  expect(await native.freeBytes(dir)).toBeGreaterThan(0);
  expect(native.openFilesLimit()).toBeGreaterThan(0);
  expect(native.isMemoryFileSystem(dir)).toBe(false);
  if (existsSync("/dev/shm")) expect(native.isMemoryFileSystem("/dev/shm")).toBe(true);
});
