// What arrives on sockets comes out as frames, and what is answered arrives, whatever the pieces.

import { describe, expect, it } from "vitest";
import { CloseReason, SelectorCounter } from "../../src/native/binding.js";
import { framed, pattern, prefix, reasonName, SelectorPlay } from "./support/selector-play.js";

describe("frames", () => {
  it("are whole when they come one byte at a time", async () => {
    const play = new SelectorPlay().listen();
    const client = await play.client();
    const frames = ["a", "bc", pattern(300).toString("latin1"), "d"];
    const bytes = Buffer.concat(frames.map((frame) => framed(Buffer.from(frame, "latin1"))));
    for (const byte of bytes) {
      client.write(Uint8Array.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const expected = Buffer.from(frames.join(""), "latin1");
    expect(await client.bytes(expected.length)).toEqual(expected);
    // A little memory is kept for the next one, until a sweep finds that none came.
    expect(play.counter(SelectorCounter.GATHERED_BYTES)).toBeLessThan(16 * 1024);
    play.selector.sweep();
    expect(play.counter(SelectorCounter.GATHERED_BYTES)).toBe(0);
  });

  it("come ten thousand in one go, a bounded number of them open at a time", async () => {
    const play = new SelectorPlay({ requestsMax: 1024 }).listen();
    const client = await play.client();
    let open = 0;
    let most = 0;
    let seen = 0;
    play.onFrame = (connection, frame) => {
      expect(frame.readInt32BE()).toBe(seen++);
      most = Math.max(most, ++open);
      // Answered together, and only after a while: nothing new arrives that could move things on.
      if (open === 1024 || seen === 10_000) {
        const due = open;
        open = 0;
        setTimeout(() => {
          for (let i = 0; i < due; i++) play.reply(connection, prefix(seen));
          play.send();
        }, 1);
      }
    };
    client.write(...Array.from({ length: 10_000 }, (_, i) => framed(prefix(i))));
    await client.bytes(40_000);
    expect(seen).toBe(10_000);
    expect(most).toBe(1024);
  });

  it("of every size around the budgets of a turn are whole", async () => {
    const turnBytesIn = 8192;
    const play = new SelectorPlay({ turnBytesIn, maxFrameBytes: 200_000 }).listen();
    const sizes: number[] = [1, 2, 3, 200_000];
    for (const edge of [turnBytesIn, 2 * turnBytesIn, 65_536, 65_536 + turnBytesIn]) {
      for (let size = edge - 10; size <= edge + 10; size++) sizes.push(size);
    }
    const contents = sizes.map((size) => pattern(size, size));
    const client = await play.client();
    for (const frame of contents) client.write(framed(frame));
    const expected = Buffer.concat(contents);
    expect((await client.bytes(expected.length)).equals(expected)).toBe(true);
  });

  it("of many connections that are larger than the arena together are all handled", async () => {
    const play = new SelectorPlay({ turnBytesIn: 100_000, maxFrameBytes: 400_000 }).listen();
    const frame = pattern(400_000);
    const clients = await Promise.all(Array.from({ length: 20 }, () => play.client()));
    for (const client of clients) client.write(framed(frame), framed("after"));
    for (const client of clients) {
      expect((await client.bytes(400_005)).equals(Buffer.concat([frame, Buffer.from("after")]))).toBe(true);
    }
  });

  for (const [what, length] of [
    ["2 GiB", 0x7fff_ffff],
    ["-1", -1],
    ["0", 0],
    ["one byte more than allowed", (1 << 20) + 1],
  ] as const) {
    it(`before a length of ${what} are answered, then the connection is closed`, async () => {
      const play = new SelectorPlay().listen();
      const client = await play.client();
      const later: (() => void)[] = [];
      play.onFrame = (connection, frame) => {
        later.push(() => play.reply(connection, frame));
      };
      client.write(framed("one"), framed("two"), prefix(length), pattern(100_000));
      await play.until(() => later.length === 2);
      expect(play.closed.size).toBe(0);
      for (const answer of later) answer();
      play.send();
      expect((await client.all()).toString()).toBe("onetwo");
      client.socket.end();
      await play.until(() => play.closed.size === 1);
      expect(reasonName(play.closed.get(client.id))).toBe("BAD_FRAME_LENGTH");
    });
  }

  it("are not there in noise, which closes the connection", async () => {
    const play = new SelectorPlay({ maxFrameBytes: 1000 }).listen();
    for (let seed = 1; seed < 50; seed++) {
      const client = await play.client();
      client.write(Uint8Array.of(0x80 | seed), pattern(5000, seed));
      expect((await client.all()).length).toBe(0);
    }
    expect(new Set(play.closed.values())).toEqual(new Set([CloseReason.BAD_FRAME_LENGTH]));
  });

  it("that were sent before the peer ended its side are answered before ours is closed", async () => {
    const play = new SelectorPlay({ requestsMax: 4 }).listen();
    const client = await play.client();
    play.onFrame = (connection, frame) => {
      setTimeout(() => {
        play.reply(connection, frame);
        play.send();
      }, 5);
    };
    client.socket.end(Buffer.concat([..."abcdefghij"].map((letter) => framed(letter))));
    expect((await client.all()).toString()).toBe("abcdefghij");
    await play.until(() => play.closed.size === 1);
    expect(reasonName(play.closed.get(client.id))).toBe("PEER");
  });

  it("answers to a connection that the peer reset are dropped", async () => {
    const play = new SelectorPlay().listen();
    const client = await play.client();
    play.onFrame = () => undefined;
    client.write(framed("a"));
    await play.until(() => play.counter(SelectorCounter.BYTES_IN) === 5);
    client.socket.resetAndDestroy();
    await play.until(() => play.closed.size === 1);
    play.reply(client.id, Buffer.from("late"));
    play.send();
    expect(play.counter(SelectorCounter.BYTES_OUT)).toBe(0);
  });
});
