// Slices of files: by sendfile and by the heap, warm and cold, of files that go or shrink meanwhile.

import { truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  APPEND_COLUMNS,
  AppendColumn,
  AppendStatus,
  type NativeFile,
  native,
  RecordFormatId,
  SegmentModeId,
  SelectorCounter,
} from "../../src/native/binding.js";
import { tempDir } from "../support/tmp.js";
import { type Client, framed, pattern, reasonName, SelectorPlay } from "./support/selector-play.js";

async function fileOf(bytes: Uint8Array): Promise<NativeFile> {
  const path = join(tempDir("slices"), "slice");
  writeFileSync(path, bytes);
  const file = await native.openFile(path, { writable: true });
  onTestFinished(() => file.close());
  return file;
}

/** Asks once and is answered with a header and a slice. */
async function fetchSlice(play: SelectorPlay, client: Client, file: NativeFile, position: number, bytes: number) {
  play.onFrame = (connection, frame) => play.reply(connection, frame, { file, position, sliceBytes: bytes });
  client.write(framed("head"));
  return await client.bytes(4 + bytes);
}

describe("a slice", () => {
  it("S06 a segment with one record, pumped in a readiness loop, is its length and its payload to the byte", async () => {
    const payload = pattern(3_000_000);
    const writer = await native.createSegmentWriter({
      path: join(tempDir("segment"), "00000000000000000000.log"),
      mode: SegmentModeId.MAPPED,
      format: RecordFormatId.plain,
      capacity: 4 << 20,
      indexIntervalBytes: 4096,
      reserve: 4 << 20,
    });
    onTestFinished(() => writer.close());
    const table = new Int32Array(APPEND_COLUMNS);
    table[AppendColumn.WRITER] = writer.id;
    table[AppendColumn.BYTES] = 4 + payload.length;
    table[AppendColumn.RECORDS] = 1;
    native.append(table, 1, [framed(payload)], new Uint32Array(30));
    expect(table[AppendColumn.STATUS]).toBe(AppendStatus.OK);

    // Its share of a turn is much less than the record, and the socket takes less than that.
    const play = new SelectorPlay({ turnBytesOut: 200_000 }).listen();
    const client = await play.client();
    const got = await fetchSlice(play, client, writer.file, 0, writer.end);
    expect(writer.end).toBe(4 + payload.length);
    expect(got.equals(Buffer.concat([Buffer.from("head"), framed(payload)]))).toBe(true);
    expect(play.counter(SelectorCounter.SENDFILE_CALLS)).toBeGreaterThan(10);
  });

  it("S22 is the same to the byte by sendfile and by the heap, and only the first calls sendfile", async () => {
    const contents = pattern(5_000_000);
    const file = await fileOf(contents);
    const places = [
      [0, 1],
      [4_999_999, 1],
      [1, 4095],
      [4095, 4098],
      [123_457, 4_000_001],
    ];
    for (const zeroCopy of [true, false]) {
      const play = new SelectorPlay({ zeroCopy }).listen();
      let bytes = 0;
      for (const [position, length] of places) {
        const client = await play.client();
        const got = await fetchSlice(play, client, file, position, length);
        expect(got.subarray(4).equals(contents.subarray(position, position + length))).toBe(true);
        bytes += length;
      }
      const [calls, sent, heap] = [
        play.counter(SelectorCounter.SENDFILE_CALLS),
        play.counter(SelectorCounter.SENDFILE_BYTES),
        play.counter(SelectorCounter.HEAP_BYTES),
      ];
      expect([sent, heap]).toEqual(zeroCopy ? [bytes, 0] : [0, bytes]);
      expect(calls >= places.length).toBe(zeroCopy);
    }
  });

  it("of a file that was removed and closed is finished", async () => {
    const contents = pattern(8_000_000);
    const file = await fileOf(contents);
    const play = new SelectorPlay().listen();
    const client = await play.client();
    client.socket.pause();
    play.onFrame = (connection) => play.reply(connection, new Uint8Array(0), { file, sliceBytes: contents.length });
    client.write(framed("go"));
    await play.until(() => play.counter(SelectorCounter.BYTES_OUT) > 0);
    unlinkSync(file.path);
    file.close();
    client.socket.resume();
    expect((await client.bytes(contents.length)).equals(contents)).toBe(true);
  });

  it("whose pages are on the disk is read in by a worker, and arrives whole", async () => {
    const contents = pattern(6_000_000);
    for (const zeroCopy of [true, false]) {
      const file = await fileOf(contents);
      await file.sync();
      await file.dropCache(0);
      const play = new SelectorPlay({ zeroCopy }).listen();
      const client = await play.client();
      const got = await fetchSlice(play, client, file, 1000, 5_000_000);
      expect(got.subarray(4).equals(contents.subarray(1000, 5_001_000))).toBe(true);
      expect(play.counter(SelectorCounter.COLD_READS)).toBeGreaterThan(0);
    }
  });

  it("that is cold delays nobody else, and each of many cold readers gets its turn", async () => {
    const contents = pattern(4_000_000);
    const play = new SelectorPlay().listen();
    const files = await Promise.all(Array.from({ length: 6 }, () => fileOf(contents)));
    for (const file of files) {
      await file.sync();
      await file.dropCache(0);
    }
    play.onFrame = (connection, frame) => {
      const file = files[frame[0]];
      play.reply(connection, frame, file === undefined ? {} : { file, sliceBytes: contents.length });
    };
    const readers = await Promise.all(files.map(() => play.client()));
    const other = await play.client();
    for (const [i, client] of readers.entries()) client.write(framed(Uint8Array.of(i)));
    other.write(framed(Uint8Array.of(255)));
    await other.bytes(1);
    for (const client of readers) {
      expect((await client.bytes(1 + contents.length)).subarray(1).equals(contents)).toBe(true);
    }
  });

  it("of a file that was cut behind our back closes its connection, and sends no byte that is not of the file", async () => {
    const contents = pattern(2_000_000);
    for (const zeroCopy of [true, false]) {
      const file = await fileOf(contents);
      truncateSync(file.path, 1_000_000);
      const play = new SelectorPlay({ zeroCopy }).listen();
      const client = await play.client();
      const other = await play.client();
      play.onFrame = (connection, frame) =>
        play.reply(connection, frame, frame[0] === 0x78 ? {} : { file, sliceBytes: contents.length });
      client.write(framed("head"));
      const got = await client.all();
      expect(got.length).toBeLessThanOrEqual(1_000_004);
      expect(got.subarray(4).equals(contents.subarray(0, Math.max(0, got.length - 4)))).toBe(true);
      await play.until(() => play.closed.size === 1);
      expect(reasonName(play.closed.get(client.id))).toBe("FILE_SHORT");
      other.write(framed("x"));
      expect((await other.bytes(1)).toString()).toBe("x");
    }
  });

  it("follows its header and is followed by the next answer, also when the peer reads slowly", async () => {
    const contents = pattern(3_000_000);
    const file = await fileOf(contents);
    const play = new SelectorPlay({ turnBytesOut: 100_000 }).listen();
    const client = await play.client();
    play.onFrame = (connection, frame) => play.reply(connection, frame, { file, sliceBytes: contents.length });
    client.socket.pause();
    for (let i = 0; i < 5; i++) client.write(framed(`h${i}`));
    await play.until(() => play.counter(SelectorCounter.OUTPUT_BYTES) > 0);
    expect(play.selector.queuedBytes(client.id)).toBeLessThan(100);
    client.socket.resume();
    const got = await client.bytes(5 * (2 + contents.length));
    for (let i = 0; i < 5; i++) {
      const at = i * (2 + contents.length);
      expect(got.subarray(at, at + 2).toString()).toBe(`h${i}`);
      expect(got.subarray(at + 2, at + 2 + contents.length).equals(contents)).toBe(true);
    }
  });
});
