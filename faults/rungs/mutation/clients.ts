// What one client may do is bounded, in time and in bytes: one entry for each safeguard that the first part of the rung `load` watches, where few play.

import { alike, type Mutant } from "./mutant.js";

/** Its crowds are not needed for that: it ends where it finds something. */
const SECONDS = 20;

const abuse = alike({ safeguard: "bound", rung: "load", seconds: SECONDS });

export const clients: readonly Mutant[] = [
  abuse(
    "the time that a frame may take",
    "native/core/selector_close.cc",
    "if (incomplete && now_ms_ - c.frame_since_ms >",
    "if (incomplete && now_ms_ < 0 && now_ms_ - c.frame_since_ms >",
  ),
  abuse(
    "the time of a frame begins with its first byte, and not with each",
    "native/core/intake.cc",
    "if (part && (!c.part || took)) c.frame_since_ms = now_ms;",
    "if (part && (!c.part || rows_ >= rows_before)) c.frame_since_ms = now_ms;",
  ),
  abuse(
    "the time that a client may take nothing",
    "native/core/selector_close.cc",
    "if (stalled && now_ms_ - c.progress_ms >",
    "if (stalled && now_ms_ < 0 && now_ms_ - c.progress_ms >",
  ),
  abuse(
    "the time that a client may do nothing",
    "native/core/selector_close.cc",
    "if (options_.idle_ms > 0 && idle",
    "if (options_.idle_ms < 0 && idle",
  ),
  abuse(
    "who waits for an answer is not idle",
    "native/core/selector_close.cc",
    "c.state == ConnectionState::kOpen && c.open == 0 && c.out.empty();",
    "c.state == ConnectionState::kOpen && c.out.empty();",
  ),
  abuse(
    "the time that a client may stay when its connection was ended",
    "native/core/selector_close.cc",
    "if (now_ms_ >= c.linger_until_ms) CloseNow",
    "if (now_ms_ < 0) CloseNow",
  ),
  abuse(
    "connection.queued.bytes.max, for what is read of a client that takes nothing",
    "native/core/selector_bounds.cc",
    "    c.output_full = true;",
    "    c.output_full = false;",
  ),
  abuse(
    "connection.queued.bytes.max, for descriptions",
    "src/server/answers.ts",
    "if (state === SlotState.METADATA) return owed(connection) > owedMax;",
    "if (state === SlotState.METADATA) return owed(connection) < 0;",
  ),
  abuse(
    "connection.queued.bytes.max, for fetches that are kept",
    "src/server/kept-fetches.ts",
    "(session.keptBytes === 0 || session.keptBytes + cost <= this.connectionBytesMax);",
    "(session.keptBytes === 0 || session.keptBytes + cost >= 0 || this.connectionBytesMax === 0);",
  ),
  abuse(
    "the oldest of the large frames goes on where there is no room for all",
    "native/core/selector_bounds.cc",
    "(oldest_->watched & interest::kRead) != 0) return;",
    "(oldest_->watched & interest::kRead) != 0 || now_ms_ > 0) return;",
  ),
];
