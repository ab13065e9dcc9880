// A selector in each state: not listening, busy, finishing, ended; in other threads, and in an environment that goes.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { native, SELECTOR_COUNTERS, SelectorCounter, type SelectorOptions } from "../../src/native/binding.js";
import { packageRoot } from "../../src/native/load.js";
import { tempDir } from "../support/tmp.js";
import { Client, defaults, framed, pattern, reasonName, SelectorPlay, tables } from "./support/selector-play.js";

/** What a busy machine may take for a tenth of a second. */
const SLOW_MS = 15_000;

const descriptors = (): number => readdirSync("/proc/self/fd").length;

/** A selector for scripts: `onTurn(frames, opened, closed)`, and `options` to look at. */
const scriptHead = `
  const native = require("node-gyp-build")(process.cwd());
  const options = {
    arena: new Uint8Array(65536), replies: new Uint8Array(1000), frames: new Int32Array(300), opened: new Int32Array(64),
    closed: new Int32Array(64), flushes: new Int32Array(70), counters: new Float64Array(${SELECTOR_COUNTERS}), maxFrameBytes: 1000,
    connectionsMax: 1000, requestsMax: 10, turnBytesIn: 1000, turnBytesOut: 1000, queuedBytesMax: 1e6,
    connectionQueuedBytesMax: 1e6, frameTimeoutMs: 1000, writeStallMs: 1000, idleMs: 0, zeroCopy: true,
  };
  const { connect } = require("node:net");
`;

function runScript(body: string): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["-e", scriptHead + body], {
    cwd: packageRoot(),
    timeout: 10_000,
    encoding: "utf8",
  });
  return { code: status, stdout, stderr };
}

describe("ending", () => {
  it("finish sends what is queued, loses no answer to a reset, closes and resolves", async () => {
    const play = new SelectorPlay().listen();
    const [busy, quiet] = [await play.client(true), await play.client(true)];
    const answer = pattern(900_000);
    busy.socket.pause();
    for (let i = 0; i < 10; i++) {
      play.reply(busy.id, answer);
      play.send();
    }
    expect(play.selector.queuedBytes(busy.id)).toBeGreaterThan(0);
    const finished = play.selector.finish(1000);
    // Bytes that nobody reads any more would turn a plain close into a reset.
    busy.write(pattern(100_000));
    await expect(Client.connect(play.port)).rejects.toThrow("ECONNREFUSED");
    busy.socket.resume();
    expect((await busy.all()).length).toBe(10 * answer.length);
    expect((await quiet.all()).length).toBe(0);
    busy.socket.end();
    quiet.socket.end();
    await finished;
    expect([...play.closed.values()].map(reasonName)).toEqual(["LOCAL", "LOCAL"]);
    expect(play.counter(SelectorCounter.CONNECTIONS)).toBe(0);
  });

  it("finish waits no longer than it was told for peers that do not end", async () => {
    const play = new SelectorPlay().listen();
    await play.client(true);
    const began = performance.now();
    await play.selector.finish(100);
    expect(performance.now() - began).toBeGreaterThan(90);
    expect(performance.now() - began).toBeLessThan(SLOW_MS);
    await play.selector.finish(100);
  });

  it("finish resolves at once without connections, and when destroyed", async () => {
    await new SelectorPlay().listen().selector.finish(1000);
    await new SelectorPlay().selector.finish(1000);
    const play = new SelectorPlay().listen();
    await play.client(true);
    const finished = play.selector.finish(60_000);
    play.selector.destroy();
    await finished;
  });

  it("close is gentle, or at once", async () => {
    const play = new SelectorPlay().listen();
    const [gentle, hard] = [await play.client(true), await play.client(true)];
    for (const client of [gentle, hard]) {
      client.socket.pause();
      for (let i = 0; i < 8; i++) play.reply(client.id, pattern(900_000));
      play.send();
    }
    play.selector.close(hard.id, true);
    play.selector.close(gentle.id, false);
    play.reply(gentle.id, Buffer.from("too late"));
    play.send();
    gentle.socket.resume();
    hard.socket.resume();
    expect((await gentle.all()).length).toBe(8 * 900_000);
    gentle.socket.end();
    await hard.all();
    expect(hard.received).toBeLessThan(8 * 900_000);
    await play.until(() => play.closed.size === 2);
    play.selector.close(gentle.id, true);
  });

  it("destroy in the middle of a turn, of a slice, of finishing: nothing happens afterwards", async () => {
    const before = descriptors();
    for (const when of ["turn", "queued", "finishing", "listening"]) {
      const play = new SelectorPlay().listen();
      const client = await play.client();
      play.onFrame = (connection) => {
        play.reply(connection, pattern(900_000));
        if (when === "turn") play.selector.destroy();
      };
      for (let i = 0; i < 10; i++) client.write(framed("x"));
      client.socket.pause();
      if (when !== "turn") await play.until(() => play.selector.queuedBytes(client.id) > 0);
      if (when === "finishing") void play.selector.finish(1000);
      if (when === "turn") await play.until(() => play.turns > 1);
      play.selector.destroy();
      play.selector.destroy();
      const turns = play.turns;
      client.socket.resume();
      await client.all();
      client.socket.destroy();
      expect(play.turns).toBe(turns);
      // Calls of those who could not know.
      play.selector.wake();
      play.selector.sweep();
      play.selector.flush(0, []);
      play.selector.close(client.id, true);
      play.selector.stopListening();
      expect(play.selector.queuedBytes(client.id)).toBe(0);
      expect(() => play.selector.listen("127.0.0.1", 0)).toThrow();
      await play.selector.finish(100);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(descriptors()).toBeLessThanOrEqual(before);
  });

  it("a thousand selectors leave no descriptor", async () => {
    const before = descriptors();
    for (let i = 0; i < 1000; i++) {
      const all = { ...defaults, maxFrameBytes: 1000, turnBytesIn: 1000 };
      const selector = new native.Selector({ ...all, ...tables(all) }, () => undefined);
      selector.listen("127.0.0.1", 0);
      selector.destroy();
      if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(descriptors()).toBeLessThanOrEqual(before);
  });

  it("twenty thousand connections come and go and leave no descriptor and no memory", async () => {
    const play = new SelectorPlay({ connectionsMax: 1000 }).listen();
    const rounds = async (count: number): Promise<void> => {
      const again = async (): Promise<void> => {
        for (let i = 0; i < count / 50; i++) {
          const client = await Client.connect(play.port);
          client.write(framed("x"));
          await client.bytes(1);
          client.socket.destroy();
        }
      };
      await Promise.all(Array.from({ length: 50 }, again));
      await play.until(() => play.counter(SelectorCounter.CONNECTIONS) === 0);
    };
    await rounds(2000);
    const fds = descriptors();
    play.closed.clear();
    await rounds(18_000);
    expect(play.closed.size).toBe(18_000);
    expect(play.counter(SelectorCounter.ACCEPTED)).toBe(20_000);
    expect(play.counter(SelectorCounter.GATHERED_BYTES)).toBe(0);
    expect(play.counter(SelectorCounter.OUTPUT_BYTES)).toBe(0);
    expect(descriptors()).toBeLessThanOrEqual(fds + 2);
    expect(new Set(play.opened.map((id) => id & 0xfffff)).size).toBeLessThan(200);
  }, 60_000);
});

describe("JavaScript around it", () => {
  it("an exception out of onTurn goes to uncaughtException at once, or ends the process", () => {
    const body = `
      let turns = 0;
      const selector = new native.Selector(options, (frames) => {
        turns++;
        if (frames > 0) throw new Error("out of a turn");
      });
      const client = connect(selector.listen("127.0.0.1", 0), "127.0.0.1", () => client.write("\\0\\0\\0\\x01x"));
    `;
    const ended = runScript(body);
    expect(ended.code).not.toBe(0);
    expect(ended.stderr).toContain("out of a turn");
    const caught = runScript(
      `${body} process.on("uncaughtException", (error) => { console.log(error.message); process.exit(7); });`,
    );
    expect(caught).toMatchObject({ code: 7, stdout: "out of a turn\n" });
  });

  it("what a turn resolved is awaited before the loop waits again", () => {
    const { stdout } = runScript(`
      const selector = new native.Selector(options, (frames, opened) => {
        if (opened > 0) Promise.resolve().then(() => { console.log("now"); process.exit(0); });
      });
      connect(selector.listen("127.0.0.1", 0), "127.0.0.1");
    `);
    expect(stdout).toBe("now\n");
  });

  it("keeps the process alive only while it listens or has connections", () => {
    const body = "const selector = new native.Selector(options, () => undefined);";
    expect(runScript(body).code).toBe(0);
    expect(runScript(`${body} selector.listen("127.0.0.1", 0); selector.stopListening();`).code).toBe(0);
    expect(runScript(`${body} selector.listen("127.0.0.1", 0); selector.finish(10);`).code).toBe(0);
    const held = spawnSync(process.execPath, ["-e", `${scriptHead}${body} selector.listen("127.0.0.1", 0);`], {
      cwd: packageRoot(),
      timeout: 500,
    });
    expect(held.signal).toBe("SIGTERM");
  });

  it("a turn of its own comes after wake, one for many calls", async () => {
    const play = new SelectorPlay();
    play.selector.wake();
    play.selector.wake();
    await play.until(() => play.turns > 0);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(play.turns).toBe(1);
  });

  it("wrong arguments are refused by name", () => {
    const sound = (): SelectorOptions => ({ ...defaults, ...tables(defaults) });
    const make = (change: object, onTurn: unknown = () => undefined): void => {
      new native.Selector({ ...sound(), ...change }, onTurn as () => undefined).destroy();
    };
    make({});
    expect(() => make({}, 5)).toThrow(/onTurn/);
    for (const name of ["arena", "replies", "frames", "opened", "closed", "flushes", "counters"]) {
      expect(() => make({ [name]: [1, 2, 3] })).toThrow(new RegExp(name));
      expect(() => make({ [name]: new Uint8Array(0) })).toThrow(new RegExp(name));
    }
    expect(() => make({ arena: new Uint8Array(defaults.maxFrameBytes) })).toThrow(/arena must have at least/);
    expect(() => make({ counters: new Float64Array(15) })).toThrow(/counters/);
    const numbers = Object.entries(defaults).filter(([, value]) => typeof value === "number");
    for (const [name] of numbers) {
      for (const wrong of ["1", -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, undefined]) {
        expect(() => make({ [name]: wrong })).toThrow(new RegExp(name));
      }
    }
    expect(() => make({ connectionsMax: (1 << 20) + 1 })).toThrow(/connectionsMax/);
    expect(() => make({ requestsMax: 65_537 })).toThrow(/requestsMax/);
    expect(() => make({ zeroCopy: 1 })).toThrow(/zeroCopy/);
    expect(() => Reflect.apply(native.Selector as unknown as () => void, undefined, [])).toThrow(/new/);

    const play = new SelectorPlay();
    expect(() => play.selector.flush(4097, [])).toThrow(/rows/);
    expect(() => play.selector.flush(1, [{} as never])).toThrow(/files\[0\]/);
    expect(() => play.selector.listen("127.0.0.1", 65_536)).toThrow(/port/);
    expect(() => play.selector.close(-1, true)).toThrow(/connection/);
    expect(() => Reflect.apply(play.selector.wake, {}, [])).toThrow(/Illegal invocation/);
  });

  it("an array that is detached is noticed before it is used", async () => {
    const all = { ...defaults, maxFrameBytes: 1000, turnBytesIn: 1000 };
    const memory = tables(all);
    expect(memory.replies.buffer).toBeInstanceOf(ArrayBuffer);
    const selector = new native.Selector({ ...all, ...memory }, () => undefined);
    structuredClone(memory.replies.buffer, { transfer: [memory.replies.buffer as ArrayBuffer] });
    expect(() => selector.flush(0, [])).toThrow(/detached/);
    expect(() => selector.finish(0)).toThrow(/detached/);
    selector.destroy();
    expect(() => new native.Selector({ ...all, ...memory }, () => undefined)).toThrow(/replies/);
    const { code, stderr } = runScript(`
      const selector = new native.Selector(options, () => undefined);
      structuredClone(options.arena.buffer, { transfer: [options.arena.buffer] });
      selector.wake();
      setTimeout(() => undefined, 1000);
    `);
    expect(code).not.toBe(0);
    expect(stderr).toContain("was detached");
  });

  it("an array that goes while the files of a flush are read is noticed too", async () => {
    const path = join(tempDir(), "a");
    writeFileSync(path, "bytes");
    const file = await native.openFile(path, { writable: false });
    const all = { ...defaults, maxFrameBytes: 1000, turnBytesIn: 1000 };
    const memory = tables(all);
    const selector = new native.Selector({ ...all, ...memory }, () => undefined);
    const files = [file];
    Object.defineProperty(files, 0, {
      get: () => {
        structuredClone(memory.flushes.buffer, { transfer: [memory.flushes.buffer as ArrayBuffer] });
        return file;
      },
    });
    expect(() => selector.flush(1, files)).toThrow(/detached/);
    selector.destroy();
    file.close();
  });

  it("listens in worker threads, several at once, and a thread may end in the middle of a turn", async () => {
    const script = `${scriptHead}
      const { parentPort } = require("node:worker_threads");
      const selector = new native.Selector(options, (frames) => {
        for (let i = 0; i < frames; i++) {
          const [connection, offset, length] = options.frames.subarray(3 * i, 3 * i + 3);
          if (options.arena[offset] === 0x21) for (parentPort.postMessage("stuck"); ; );
          options.replies.set(options.arena.subarray(offset, offset + length));
          options.flushes.set([connection, 0, length, 1, -1, 0, 0]);
          selector.flush(1, []);
        }
      });
      parentPort.postMessage(selector.listen("127.0.0.1", 0));
    `;
    const before = descriptors();
    for (let round = 0; round < 5; round++) {
      const workers = [0, 1, 2].map(() => new Worker(script, { eval: true }));
      const said = (worker: Worker): Promise<unknown> =>
        new Promise((resolve, reject) => {
          worker.once("message", resolve);
          worker.once("error", reject);
        });
      const ports = (await Promise.all(workers.map(said))) as number[];
      const clients = await Promise.all(ports.map((port) => Client.connect(port)));
      for (const client of clients) client.write(framed("hello"));
      for (const client of clients) expect((await client.bytes(5)).toString()).toBe("hello");
      const stuck = said(workers[0]);
      clients[0].write(framed("!"));
      await stuck;
      await Promise.all(workers.map((worker) => worker.terminate()));
      for (const client of clients) await client.all();
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(descriptors()).toBeLessThan(before + 10);
  });
});

describe("addresses", () => {
  it("port 0 becomes a free one, and one that is taken is EADDRINUSE", async () => {
    const play = new SelectorPlay();
    const port = play.selector.listen("127.0.0.1", 0);
    expect(port).toBeGreaterThan(0);
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const address = taken.address() as { port: number };
    expect(() => play.selector.listen("127.0.0.1", address.port)).toThrow(
      expect.objectContaining({ code: "EADDRINUSE", syscall: "bind" }),
    );
    taken.close();
    expect(() => play.selector.listen("192.0.2.1", 0)).toThrow(expect.objectContaining({ code: "EADDRNOTAVAIL" }));
  });

  it("a Unix socket is the owner's alone, a stale one is replaced, a living one is not, and it goes with the listener", async () => {
    const path = join(tempDir("unix"), "socket");
    const script = `${scriptHead}
      new native.Selector(options, () => undefined).listenUnix(${JSON.stringify(path)});
      process.kill(process.pid, "SIGKILL");
    `;
    expect(() => execFileSync(process.execPath, ["-e", script], { cwd: packageRoot() })).toThrow();
    expect(existsSync(path)).toBe(true);

    const play = new SelectorPlay();
    play.selector.listenUnix(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const client = await Client.connect(path);
    client.write(framed("hello"));
    expect((await client.bytes(5)).toString()).toBe("hello");
    expect(() => new SelectorPlay().selector.listenUnix(path)).toThrow(expect.objectContaining({ code: "EADDRINUSE" }));
    expect(existsSync(path)).toBe(true);
    expect(() => play.selector.listenUnix("x".repeat(200))).toThrow(expect.objectContaining({ code: "ENAMETOOLONG" }));
    play.selector.stopListening();
    expect(existsSync(path)).toBe(false);
    client.socket.destroy();
    await play.until(() => play.closed.size === 1);
  });

  it("a Unix client that sent everything and went is carried out to the end, at the bound of open requests, too", async () => {
    const path = join(tempDir("unix"), "socket");
    const play = new SelectorPlay({ requestsMax: 1 });
    let seen = 0;
    play.onFrame = (connection) => {
      seen++;
      setTimeout(() => {
        play.reply(connection, new Uint8Array(0));
        play.send();
      }, 1);
    };
    play.selector.listenUnix(path);
    const client = await Client.connect(path);
    client.socket.end(Buffer.concat(Array.from({ length: 100 }, () => framed("x"))), () => client.socket.destroy());
    await play.until(() => seen === 100);
    await play.until(() => play.closed.size === 1);
  });
});
