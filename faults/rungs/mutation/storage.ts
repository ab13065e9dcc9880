// What a start believes of the files it finds, and what is done before something else may be: more of what mutants.ts has of both.

import type { Mutant } from "./mutant.js";

export const storage: readonly Mutant[] = [
  {
    name: "the size of a sealed segment, by its index",
    safeguard: "check",
    file: "src/storage/index-file.ts",
    from: "if (header.segmentBytes !== segmentBytes) {",
    to: "if (header.segmentBytes < 0) {",
    rung: "format-sweep",
  },
  {
    name: "no gap behind a sealed segment",
    safeguard: "check",
    file: "src/storage/recovery-table.ts",
    from: 'if (successor === "gap") return decide("refuse", "the segment is sealed, and the one that follows it is missing");',
    to: "",
    rung: "format-sweep",
    covered:
      "what lies behind the gap says by its index, or the checkpoint says, that all before it was durable: that is asked first, and is taken away as well",
  },
  {
    name: "of two slots of a checkpoint the newer one counts",
    safeguard: "check",
    file: "src/storage/checkpoint-file.ts",
    from: "if (found === undefined || found.sequence <= sequence) continue;",
    to: "if (found === undefined) continue;",
    rung: "format-sweep",
  },
  {
    name: "segments behind the end of the log are moved away",
    safeguard: "order of publication",
    file: "src/storage/recovery.ts",
    from: "torn.push(...(await moveBehind(dir, plan, tell)));",
    to: "if (plan.behind.length < 0) torn.push(...(await moveBehind(dir, plan, tell)));",
    rung: "format-sweep",
  },
  {
    name: "the barrier of a seal",
    safeguard: "barrier",
    file: "native/core/segment_writer.cc",
    from: "  if (const int code = ForceFile(file_->fd())) {\n    Break(code);",
    to: "  if (const int code = force ? 0 : ForceFile(file_->fd())) {\n    Break(code);",
    rung: "power-cut",
    rounds: 60,
  },
  {
    name: "a batch that a mailbox has no room for is refused",
    safeguard: "bound",
    file: "src/log/partition-writer.ts",
    from: "(box.bytes + bytes > this.#mailboxBytes && box.size > 0)",
    to: "(box.bytes + bytes < 0 && this.#mailboxBytes > 0)",
    rung: "full-disk",
    seconds: 30,
    covered:
      "copies of waiting batches have a bound of their own, for all partitions together, and what they take stops reading at queued.bytes.max before: test/log/partition-writer.test.ts plays it",
  },
  {
    name: "the journal is asked whether a barrier counts",
    safeguard: "barrier",
    file: "native/core/io.cc",
    from: "if (call() == 0) return StillWritable(fd);",
    to: "if (call() == 0) return fd < 0 ? StillWritable(fd) : 0;",
    rung: "full-disk",
    seconds: 30,
    covered:
      "it takes a device that fails while a barrier is under way, a moment in some thousands: test/server/failing-barriers.test.ts plays it",
  },
];
