// What clients and callers of the addon may do is bounded, and what they say is checked: one entry for each safeguard that the rungs `load` and `addon` watch.

import type { Mutant } from "./mutant.js";

export const abuse: readonly Mutant[] = [
  {
    name: "a row of the append table lies inside its source",
    safeguard: "check",
    file: "native/core/append.cc",
    from: "if (from > count || static_cast<std::size_t>(bytes) > count - from) return TableFault::kRange;",
    to: "if (from > count && static_cast<std::size_t>(bytes) > count - from) return TableFault::kRange;",
    rung: "addon",
    seconds: 12,
  },
  {
    name: "a segment writer that is being sealed takes no more calls",
    safeguard: "check",
    file: "native/wrap/storage_writer.cc",
    from: "if (wrap == nullptr || wrap->core->state == WriterState::kOpen) return wrap;",
    to: "if (wrap == nullptr || wrap->core->writer) return wrap;",
    rung: "addon",
    seconds: 12,
  },
  {
    name: "a file that is closed is used no more",
    safeguard: "check",
    file: "native/wrap/storage_file.cc",
    from: 'if (!wrap->file) ThrowClosed(args.env, "the file is closed: " + wrap->last_path);',
    to: "",
    rung: "addon",
    seconds: 12,
  },
  {
    name: "no more connections than connections.max",
    safeguard: "bound",
    file: "native/core/selector_accept.cc",
    from: "if (live_ >= options_.connections_max) return PauseDoors();",
    to: "if (live_ >= options_.connections_max + 500) return PauseDoors();",
    rung: "load",
    seconds: 20,
    covered: "the table of connections has no more slots than connections.max either",
  },
  {
    name: "clients that take nothing are closed at queued.bytes.max",
    safeguard: "bound",
    file: "native/core/selector_close.cc",
    from: "if (paused_) Shed();",
    to: "",
    rung: "load",
    seconds: 20,
  },
  {
    name: "open requests of a connection where requests crowd",
    safeguard: "bound",
    file: "native/core/selector_bounds.cc",
    from: "intake_.set_requests_max(crowded_ ? std::min(kCrowdedRequests, options_.requests_max)",
    to: "intake_.set_requests_max(crowded_ ? std::max(kCrowdedRequests, options_.requests_max)",
    rung: "load",
    seconds: 20,
  },
];
