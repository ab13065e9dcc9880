// Ten thousand connections are ordinary: idle ones cost nothing in a turn and little memory.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { native, SelectorCounter } from "../../src/native/binding.js";
import { framed, SelectorPlay } from "./support/selector-play.js";

const wanted = Math.min(10_000, native.openFilesLimit() - 500);

/** Opens connections from a process of its own, as descriptors are counted for each process; says so, and waits. */
async function openElsewhere(port: number, count: number): Promise<void> {
  const script = `
    const { connect } = require("node:net");
    let open = 0;
    const next = () => {
      const socket = connect(${port}, "127.0.0.1", () => {
        if (++open === ${count}) console.log("open");
      });
      socket.on("error", (error) => { console.log(error.message); process.exit(1); });
    };
    let begun = 0;
    const some = () => {
      for (let i = 0; i < 200 && begun < ${count}; i++, begun++) next();
      if (begun < ${count}) setTimeout(some, 5);
    };
    some();
  `;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const [said] = await once(child.stdout, "data");
  expect(String(said)).toBe("open\n");
}

it(`${wanted} connections: no turn while they are idle, a kilobyte for each, and one that is busy does not feel them`, async () => {
  const play = new SelectorPlay({ connectionsMax: wanted + 10, idleMs: 3_600_000 }).listen();
  const busy = await play.client();
  const ask = async (times: number): Promise<number> => {
    const began = performance.now();
    for (let i = 0; i < times; i++) {
      busy.write(framed("x"));
      await busy.bytes(busy.received + 1);
    }
    return performance.now() - began;
  };
  await ask(500);
  const alone = await ask(500);
  const before = process.memoryUsage().rss;
  await openElsewhere(play.port, wanted);
  await play.until(() => play.counter(SelectorCounter.CONNECTIONS) === wanted + 1);
  // Of which the list of ids that the test keeps is a part.
  expect((process.memoryUsage().rss - before) / wanted).toBeLessThan(2000);

  const turns = play.counter(SelectorCounter.TURNS);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(play.counter(SelectorCounter.TURNS)).toBe(turns);

  expect(await ask(500)).toBeLessThan(3 * alone + 200);
  const began = performance.now();
  for (let i = 0; i < 10; i++) play.selector.sweep();
  expect((performance.now() - began) / 10).toBeLessThan(20);
}, 60_000);
