// Many connections, each with a frame that is almost whole: together far more than the broker may hold.

import { concat, int32 } from "../../../test/support/bytes.js";
import { hello, Wire } from "../../../test/support/wire.js";
import { within } from "../../lib/witness/ask.js";
import { FRAME_BYTES_MAX, QUEUED_BYTES_MAX } from "./bounds.js";

const CONNECTIONS = 120;
const LOOKS = 12;
const SERVED_MS = 10_000;
const LOOK_MS = 50;
/** Beyond it: what one reads at a time, and the frame that is always let in. */
const BEYOND_BYTES = 2 * FRAME_BYTES_MAX;
const HELD_MEMORY_MAX = 20 * 1024 * 1024;

/** What is wrong. */
export async function hoard(port: number, opsPort: number, memory: () => Promise<number>): Promise<string[]> {
  const wrong: string[] = [];
  const before = await memory();
  const frame = concat(int32(FRAME_BYTES_MAX), new Uint8Array(FRAME_BYTES_MAX - 10));
  const wires = await Promise.all(Array.from({ length: CONNECTIONS }, () => Wire.connect(port)));
  for (const wire of wires) wire.send(frame);
  for (let look = 0; look < LOOKS && wrong.length === 0; look++) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    const queued = Number(/^millrace_queued_bytes (\S+)$/m.exec(text)?.[1]);
    if (!(queued <= QUEUED_BYTES_MAX + BEYOND_BYTES)) {
      wrong.push(`${CONNECTIONS} unfinished frames: ${queued} bytes are queued, and ${QUEUED_BYTES_MAX} may be`);
    }
  }
  const grown = (await memory()) - before;
  if (grown > HELD_MEMORY_MAX) wrong.push(`${CONNECTIONS} unfinished frames: its memory grew by ${grown} bytes`);
  // Whoever has a small request must not notice who fills the room.
  const served = await Wire.connect(port);
  await within(SERVED_MS, "a HELLO beside unfinished frames", served.ask(hello())).catch((error: Error) =>
    wrong.push(error.message),
  );
  for (const wire of [...wires, served]) wire.destroy();
  return wrong;
}
