// Every bound: what happens there, that it holds, that others go on, and that nothing spins.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { native, SELECTOR_COUNTERS, SelectorCounter } from "../../src/native/binding.js";
import { packageRoot } from "../../src/native/load.js";
import { tempDir } from "../support/tmp.js";
import { Client, framed, pattern, prefix, reasonName, SelectorPlay } from "./support/selector-play.js";

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Turns within some time in which nothing should happen. */
async function turnsWithin(play: SelectorPlay, ms: number): Promise<number> {
  const before = play.counter(SelectorCounter.TURNS);
  await pause(ms);
  return play.counter(SelectorCounter.TURNS) - before;
}

describe("a peer that stops reading", () => {
  it("is not read at the bound on its output; others are served; it goes on when it reads, or is closed", async () => {
    const bound = 200_000;
    const play = new SelectorPlay({ connectionQueuedBytesMax: bound, requestsMax: 16, writeStallMs: 100 }).listen();
    const answer = pattern(50_000);
    play.onFrame = (connection, frame) => play.reply(connection, frame[0] === 0 ? answer : frame);
    const lazy = await play.client();
    const other = await play.client();
    lazy.socket.pause();
    lazy.write(...Array.from({ length: 1000 }, () => framed(Uint8Array.of(0))));
    await play.until(() => play.selector.queuedBytes(lazy.id) >= bound);
    expect(play.selector.queuedBytes(lazy.id)).toBeLessThan(bound + 16 * answer.length);
    other.write(framed("x"));
    expect((await other.bytes(1)).toString()).toBe("x");
    expect(await turnsWithin(play, 50)).toBeLessThan(3);

    lazy.socket.resume();
    await lazy.bytes(1000 * answer.length);
    lazy.socket.pause();
    lazy.write(...Array.from({ length: 1000 }, () => framed(Uint8Array.of(0))));
    await play.until(() => play.selector.queuedBytes(lazy.id) >= bound);
    play.selector.sweep();
    expect(play.closed.size).toBe(0);
    // Its kernel may take a little more for a while, which counts as progress.
    await play.until(() => {
      play.selector.sweep();
      return play.closed.size === 1;
    });
    expect(reasonName(play.closed.get(lazy.id))).toBe("WRITE_STALL");
    expect(play.counter(SelectorCounter.OUTPUT_BYTES)).toBe(0);
  });

  it("in the middle of a slice holds no memory and is closed, too", async () => {
    const play = new SelectorPlay({ writeStallMs: 50 }).listen();
    const client = await play.client();
    play.onFrame = (connection) => play.reply(connection, pattern(900_000));
    client.socket.pause();
    client.write(...Array.from({ length: 10 }, () => framed("x")));
    await play.until(() => play.selector.queuedBytes(client.id) > 0);
    await play.until(() => {
      play.selector.sweep();
      return play.closed.size === 1;
    });
    expect(reasonName(play.closed.get(client.id))).toBe("WRITE_STALL");
  });

  it("when its share of a turn is smaller than what its socket had room for is closed, too", async () => {
    const path = join(tempDir("slices"), "slice");
    writeFileSync(path, pattern(20_000_000));
    const file = await native.openFile(path, { writable: false });
    onTestFinished(() => file.close());
    for (const turnBytesOut of [10_000, 100_000, 1_000_000]) {
      const play = new SelectorPlay({ writeStallMs: 50, turnBytesOut }).listen();
      const client = await play.client();
      play.onFrame = (connection) => play.reply(connection, new Uint8Array(4), { file, sliceBytes: 20_000_000 });
      client.socket.pause();
      client.write(framed("x"));
      await play.until(() => {
        play.selector.sweep();
        return play.closed.size === 1;
      });
      expect(reasonName(play.closed.get(client.id))).toBe("WRITE_STALL");
    }
  });
});

describe("the bound on all queued bytes", () => {
  it("pauses everybody while TypeScript holds too much, and resumes when it lets go", async () => {
    const play = new SelectorPlay({ queuedBytesMax: 1_000_000 }).listen();
    const clients = await Promise.all([play.client(), play.client(), play.client()]);
    play.counters[SelectorCounter.EXTERNAL_QUEUED_BYTES] = 1_000_000;
    play.send();
    for (const client of clients) client.write(framed("x"));
    await pause(50);
    expect(play.counter(SelectorCounter.BYTES_IN)).toBe(0);
    expect(await turnsWithin(play, 50)).toBe(0);
    play.counters[SelectorCounter.EXTERNAL_QUEUED_BYTES] = 700_000;
    play.selector.wake();
    for (const client of clients) expect((await client.bytes(1)).toString()).toBe("x");
    expect(play.counter(SelectorCounter.PAUSES)).toBe(1);
  });

  it("lets frames that fill it complete one after the other, so that they never wait for each other", async () => {
    const maxFrameBytes = 500_000;
    const play = new SelectorPlay({ queuedBytesMax: 1_000_000, maxFrameBytes, turnBytesIn: 50_000 }).listen();
    play.onFrame = (connection) => play.reply(connection, Uint8Array.of(1));
    const clients = await Promise.all(Array.from({ length: 12 }, () => play.client()));
    const frame = framed(pattern(maxFrameBytes));
    for (const client of clients) client.write(frame.subarray(0, 400_000));
    await play.until(() => play.counter(SelectorCounter.PAUSES) > 0);
    await pause(50);
    expect(play.counter(SelectorCounter.GATHERED_BYTES)).toBeLessThan(1_000_000 + maxFrameBytes);
    expect(await turnsWithin(play, 50)).toBe(0);
    for (const client of clients) client.write(frame.subarray(400_000));
    for (const client of clients) await client.bytes(1);
    expect(play.counter(SelectorCounter.GATHERED_BYTES)).toBe(0);
  });
});

describe("frames that are not complete", () => {
  const maxFrameBytes = 500_000;
  const bound = 2_000_000;

  /** Clients that fill what may be gathered and send nothing more. */
  async function filled(options: { requestsMax?: number } = {}) {
    const play = new SelectorPlay({ queuedBytesMax: bound, maxFrameBytes, turnBytesIn: 50_000, ...options }).listen();
    play.onFrame = (connection, frame) => play.reply(connection, frame.subarray(0, 4));
    const frame = framed(pattern(maxFrameBytes));
    const slow = await Promise.all(Array.from({ length: 12 }, () => play.client()));
    for (const client of slow) client.write(frame.subarray(0, 400_000));
    await play.until(() => play.counter(SelectorCounter.PAUSES) > 0);
    await pause(50);
    return { play, slow, frame };
  }
  const numbered = (n: number, bytes: number) => {
    const contents = Buffer.alloc(bytes, n);
    contents.writeInt32BE(n);
    return framed(contents);
  };

  it("may take three quarters of the bound; whole requests of others are served meanwhile, and nothing spins", async () => {
    const { play, slow, frame } = await filled();
    const held = play.counter(SelectorCounter.GATHERED_BYTES);
    expect(held).toBeLessThan(bound * 0.75 + maxFrameBytes);
    const other = await play.client();
    for (let i = 0; i < 200; i++) {
      other.write(numbered(i, 4 + i * 250));
      expect((await other.bytes(4 * i + 4)).readInt32BE(4 * i)).toBe(i);
    }
    // Many at once: what lies in its socket ends in the middle of one.
    other.write(...Array.from({ length: 300 }, (_, i) => numbered(i, 7_777)));
    const answers = await other.bytes(2000);
    for (let i = 0; i < 300; i++) expect(answers.readInt32BE(800 + 4 * i)).toBe(i);
    expect(play.counter(SelectorCounter.GATHERED_BYTES)).toBe(held);
    // One that comes in pieces, each of them a long time after the one before.
    const request = numbered(9, 20_000);
    for (const [from, to] of [
      [0, 2],
      [2, 5],
      [5, 19_000],
    ]) {
      other.write(request.subarray(from, to));
      await pause(20);
      expect(await turnsWithin(play, 50)).toBe(0);
    }
    other.write(request.subarray(19_000));
    expect((await other.bytes(2004)).readInt32BE(2000)).toBe(9);
    expect(play.counter(SelectorCounter.GATHERED_BYTES)).toBe(held);
    // A large one waits for the room. It gets it when the others are done.
    other.write(frame);
    await pause(50);
    expect(await turnsWithin(play, 50)).toBe(0);
    for (const client of slow) client.write(frame.subarray(400_000));
    for (const client of slow) await client.bytes(4);
    await other.bytes(2008);
    expect(play.counter(SelectorCounter.GATHERED_BYTES)).toBe(0);
  });

  it("let no connection at its bound on requests be forgotten", async () => {
    const { play } = await filled({ requestsMax: 2 });
    const open: Buffer[] = [];
    const before = play.onFrame;
    const other = await play.client();
    play.onFrame = (connection, frame) => {
      if (connection === other.id) open.push(Buffer.from(frame.subarray(0, 4)));
      else before(connection, frame);
    };
    other.write(...Array.from({ length: 100 }, (_, i) => numbered(i, 900)));
    for (let i = 0; i < 100; i++) {
      await play.until(() => open.length > i);
      play.reply(other.id, open[i]);
      play.send();
    }
    const answers = await other.bytes(400);
    for (let i = 0; i < 100; i++) expect(answers.readInt32BE(4 * i)).toBe(i);
  });

  it("let those go on that were in the middle of a small one", async () => {
    const play = new SelectorPlay({ queuedBytesMax: bound, maxFrameBytes, turnBytesIn: 50_000 }).listen();
    play.onFrame = (connection, frame) => play.reply(connection, frame.subarray(0, 4));
    const small = await play.client();
    const request = numbered(3, 30_000);
    const frame = framed(pattern(maxFrameBytes));
    const slow = await Promise.all(Array.from({ length: 12 }, () => play.client()));
    slow[0].write(frame.subarray(0, 400_000));
    await play.until(() => play.counter(SelectorCounter.GATHERED_BYTES) >= 400_000);
    small.write(request.subarray(0, 10_000));
    await play.until(() => play.counter(SelectorCounter.GATHERED_BYTES) >= 410_000);
    for (const client of slow.slice(1)) client.write(frame.subarray(0, 400_000));
    await play.until(() => play.counter(SelectorCounter.PAUSES) > 0);
    small.write(request.subarray(10_000));
    expect((await small.bytes(4)).readInt32BE()).toBe(3);
  });
});

describe("open requests", () => {
  it("at their bound stop the reading of that connection only, and nothing spins", async () => {
    const play = new SelectorPlay({ requestsMax: 2, turnBytesIn: 1000 }).listen();
    const [full, other] = [await play.client(), await play.client()];
    const parked: number[] = [];
    play.onFrame = (connection, frame) => {
      if (connection === full.id) parked.push(frame.readInt32BE());
      else play.reply(connection, frame);
    };
    full.write(...Array.from({ length: 1000 }, (_, i) => framed(prefix(i))));
    await play.until(() => parked.length === 2);
    other.write(framed("x"));
    await other.bytes(1);
    expect(await turnsWithin(play, 50)).toBeLessThan(3);
    for (let next = 0; next < 1000; ) {
      await play.until(() => parked.length > next);
      expect(parked.length - next).toBeLessThanOrEqual(2);
      play.reply(full.id, prefix(parked[next++]));
      play.send();
    }
    const got = await full.bytes(4000);
    for (let i = 0; i < 1000; i++) expect(got.readInt32BE(4 * i)).toBe(i);
  });
});

describe("time limits", () => {
  it("close a frame that is not complete in time, also one that gets a byte now and then", async () => {
    const play = new SelectorPlay({ frameTimeoutMs: 100 }).listen();
    const [slow, dead, whole] = [await play.client(), await play.client(), await play.client()];
    whole.write(framed("whole"));
    dead.write(prefix(100).subarray(0, 1));
    slow.write(prefix(100));
    for (let i = 0; i < 8; i++) {
      await pause(25);
      if (!slow.closed) slow.write(Uint8Array.of(i));
      play.selector.sweep();
    }
    await play.until(() => play.closed.size === 2);
    expect(reasonName(play.closed.get(slow.id))).toBe("FRAME_TIMEOUT");
    expect(reasonName(play.closed.get(dead.id))).toBe("FRAME_TIMEOUT");
  });

  it("close an idle connection, but none with an open request", async () => {
    const play = new SelectorPlay({ idleMs: 50 }).listen();
    const [idle, waiting] = [await play.client(), await play.client()];
    play.onFrame = () => undefined;
    waiting.write(framed("parked"));
    await pause(100);
    play.selector.sweep();
    await play.until(() => play.closed.size > 0);
    await pause(20);
    expect([...play.closed.keys()]).toEqual([idle.id]);
    expect(reasonName(play.closed.get(idle.id))).toBe("IDLE");
  });
});

describe("the listener", () => {
  it("rests at the bound on connections and goes on when one is free", async () => {
    const play = new SelectorPlay({ connectionsMax: 3 }).listen();
    const first = [await play.client(), await play.client(), await play.client()];
    const late = [await Client.connect(play.port), await Client.connect(play.port)];
    for (const client of late) client.write(framed("late"));
    expect(await turnsWithin(play, 50)).toBe(0);
    expect(play.counter(SelectorCounter.CONNECTIONS)).toBe(3);
    expect(play.counter(SelectorCounter.LISTENER_PAUSES)).toBe(1);
    first[0].socket.destroy();
    expect((await late[0].bytes(4)).toString()).toBe("late");
    expect(play.counter(SelectorCounter.CONNECTIONS)).toBe(3);
    play.selector.close(first[1].id, true);
    expect((await late[1].bytes(4)).toString()).toBe("late");
  });

  it("rests when the process is out of descriptors, does not spin, and goes on when one is free", () => {
    // In a process of its own, with a limit of its own.
    const script = `
      const { connect } = require("node:net");
      const native = require("node-gyp-build")(process.cwd());
      const counters = new Float64Array(${SELECTOR_COUNTERS});
      const ids = [];
      const opened = new Int32Array(64);
      const selector = new native.Selector({
        arena: new Uint8Array(65536), replies: new Uint8Array(1000), frames: new Int32Array(300), opened,
        closed: new Int32Array(64), flushes: new Int32Array(70), counters, maxFrameBytes: 1000, connectionsMax: 1000,
        requestsMax: 10, turnBytesIn: 1000, turnBytesOut: 1000, queuedBytesMax: 1e6, connectionQueuedBytesMax: 1e6,
        frameTimeoutMs: 1000, writeStallMs: 1000, idleMs: 0, zeroCopy: true,
      }, (frames, count) => { for (let i = 0; i < count; i++) ids.push(opened[i]); });
      const port = selector.listen("127.0.0.1", 0);
      const clients = [];
      let failed = 0;
      const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      (async () => {
        // Clients and accepted connections share the limit: the clients take all there is.
        for (let i = 0; i < 200; i++) {
          const client = connect(port, "127.0.0.1");
          client.on("error", () => failed++);
          clients.push(client);
        }
        await pause(50);
        const [turns, accepted, cpu] = [counters[13], ids.length, process.cpuUsage()];
        await pause(200);
        const idle = { turns: counters[13] - turns, cpu: process.cpuUsage(cpu).user / 1000 };
        const waiting = clients.filter((client) => !client.destroyed).length - accepted;
        for (const client of clients.filter((client) => !client.destroyed).slice(0, 20)) client.destroy();
        await pause(50);
        selector.sweep();
        await pause(50);
        console.log(JSON.stringify({ failed, waiting, pauses: counters[12], idle, before: accepted, after: ids.length }));
        process.exit(0);
      })();
    `;
    const line = execFileSync("bash", ["-c", `ulimit -n 120; exec "${process.execPath}" -e "$SCRIPT"`], {
      cwd: packageRoot(),
      env: { ...process.env, SCRIPT: script, NODE_PATH: join(packageRoot(), "node_modules") },
    });
    const said = JSON.parse(line.toString());
    expect(said.failed).toBeGreaterThan(0);
    expect(said.waiting).toBeGreaterThan(0);
    expect(said.pauses).toBeGreaterThan(0);
    expect(said.idle.turns).toBeLessThan(3);
    expect(said.idle.cpu).toBeLessThan(100);
    expect(said.after).toBeGreaterThan(said.before);
  });
});
