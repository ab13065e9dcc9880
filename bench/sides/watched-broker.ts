// A broker started from code, as the program is, in a process that also watches its own event loop. It prints a ready line, and
// answers each message of its parent with what was seen since the last one; "collect" collects garbage first.
//
//   node watched-broker.js '{"data.dir": "…", "port": 0}' [--loop]
//
//   --loop   watch the loop; a timer of a millisecond does it, so an idle process is not idle with it

import { startBroker } from "../../src/ops/start-broker.js";
import { LoopWatch, loopCpuSeconds, type WatchedLook } from "../lib/loop-watch.js";

const [settings = "{}", flag] = process.argv.slice(2);
const broker = await startBroker({ settings: JSON.parse(settings) as Record<string, unknown> });
const watch = flag === "--loop" ? new LoopWatch() : undefined;

const answer = async (collect: boolean): Promise<void> => {
  if (collect) {
    globalThis.gc?.();
    watch?.look(); // the collection's pause is not the broker's
  }
  const look: WatchedLook = {
    statistics: broker.statistics(),
    loop: watch?.look(),
    loopCpuSeconds: await loopCpuSeconds(),
    rss: process.memoryUsage.rss(),
  };
  process.send?.(look);
};
process.on("message", (message) => void answer(message === "collect"));
process.once("disconnect", () => process.exit(0));
process.once("SIGTERM", () => {
  void broker.stop().then((clean) => process.exit(clean ? 0 : 1));
});
process.stdout.write(`watched broker ready host=${broker.host} port=${broker.port} pid=${process.pid}\n`);
