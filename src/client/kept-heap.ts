// Large answers come and go by the hundred in a second, each in memory of its own. glibc gives what is free at the end of its heap back
// to the system once it is more than twice the largest block that was ever given back, and the next answer then faults it in again, page
// by page: of an answer of 4 MiB every twentieth page, a fifth of the reader's time. One block of the largest size that it learns from,
// which nobody writes to and which so takes no memory, makes it keep 64 MiB. Other libraries take no notice.

import { CLIENT_HEAP_LESSON_BYTES, CLIENT_LARGE_ANSWER_BYTES } from "../model/limits.js";

let isTaught = false;

/** Before memory for an answer of so many bytes is taken. */
export function keepHeapFor(bytes: number): void {
  if (isTaught || bytes < CLIENT_LARGE_ANSWER_BYTES) return;
  isTaught = true;
  try {
    // Given back when the garbage collector comes by; which one block does not hurry.
    Buffer.allocUnsafeSlow(CLIENT_HEAP_LESSON_BYTES);
  } catch {
    // Where address space is that short, it goes on without.
  }
}
