// Memory that received answers lie in, so that it is used again once a reader says that he is done with one. Unasked it is never: a
// record is a view, whoever keeps one keeps all of its answer, and only the garbage collector knows. What is given back is first moved
// to another ArrayBuffer, which takes it from under every view: a record kept by mistake is empty, and never shows another's bytes.

import { CLIENT_SPARE_BYTES, CLIENT_SPARE_GRANULE_BYTES } from "../model/limits.js";
import { keepHeapFor } from "./kept-heap.js";

/** How many batches lie in a buffer that are not given back. */
const batchesIn = new WeakMap<ArrayBufferLike, number>();
/** The last that was given back is taken first: it is in the processor's cache. */
const spare: ArrayBuffer[] = [];
let spareBytes = 0;

/** Memory for an answer of so many bytes, of any content. */
export function answerMemory(bytes: number): Uint8Array {
  for (let i = spare.length - 1; i >= 0; i--) {
    const buffer = spare[i] as ArrayBuffer;
    // One of twice the size would be missed by the next large answer.
    if (buffer.byteLength < bytes || buffer.byteLength >= 2 * bytes) continue;
    spare.splice(i, 1);
    spareBytes -= buffer.byteLength;
    return new Uint8Array(buffer, 0, bytes);
  }
  keepHeapFor(bytes);
  const rounded = Math.ceil(bytes / CLIENT_SPARE_GRANULE_BYTES) * CLIENT_SPARE_GRANULE_BYTES;
  return Buffer.allocUnsafeSlow(bytes < CLIENT_SPARE_GRANULE_BYTES ? bytes : rounded).subarray(0, bytes);
}

/** `buffer` holds so many batches and nothing else that anybody looks at. */
export function holdsBatches(buffer: ArrayBufferLike, batches: number): void {
  batchesIn.set(buffer, batches);
}

/** One batch in `buffer` is looked at no more. When it was the last, the memory goes to the next answer and all views of it are empty. */
export function giveBack(buffer: ArrayBufferLike): void {
  const batches = batchesIn.get(buffer);
  if (batches === undefined) return;
  batchesIn.set(buffer, batches - 1);
  if (batches > 1 || !(buffer instanceof ArrayBuffer)) return;
  batchesIn.delete(buffer);
  // Somebody has moved it elsewhere, to a worker for instance: there is nothing to be given back, and moving it once more is an error.
  if (buffer.byteLength === 0) return;
  const taken = structuredClone(buffer, { transfer: [buffer] });
  if (taken.byteLength < CLIENT_SPARE_GRANULE_BYTES || taken.byteLength > CLIENT_SPARE_BYTES) return;
  spare.push(taken);
  spareBytes += taken.byteLength;
  // What nobody took for the longest time is of a size that is asked for no more.
  while (spareBytes > CLIENT_SPARE_BYTES) spareBytes -= spare.shift()?.byteLength ?? 0;
}
