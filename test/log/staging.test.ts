// Staging and the mailbox: memory is counted as it is held, given back when the last batch in it has left, and not used again
// while a worker may read it.

import { describe, expect, it } from "vitest";
import type { AppendListener } from "../../src/log/append-listener.js";
import { Mailbox } from "../../src/log/mailbox.js";
import { Staging } from "../../src/log/staging.js";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { MAILBOX_ENTRIES_FIRST, STAGING_CHUNK_BYTES } from "../../src/model/limits.js";

const told: [token: number, error: number][] = [];
const listener: AppendListener = { appended: (token, error) => void told.push([token, error]) };

function push(box: Mailbox, token: number, bytes: Uint8Array): void {
  box.push(bytes, 0, bytes.length, 1, AckPolicy.WRITTEN, -1, listener, token);
}
const filled = (bytes: number, value: number) => new Uint8Array(bytes).fill(value);

describe("staging", () => {
  it("copies what waits, in order, and gives a chunk back with the last batch in it", () => {
    const staging = new Staging(10 * STAGING_CHUNK_BYTES);
    const box = new Mailbox(staging);
    const size = STAGING_CHUNK_BYTES / 4 + 1;
    for (let n = 0; n < 7; n++) {
      const bytes = filled(size, n);
      push(box, n, bytes);
    }
    box.stage(ErrorCodes.OVERLOADED);
    expect(box.unstaged).toBe(0);
    // Three in each chunk; the seventh alone takes what it needs.
    expect(staging.queuedBytes).toBe(2 * STAGING_CHUNK_BYTES + size);
    const held: number[] = [];
    for (let n = 0; n < 7; n++) {
      const i = box.slot(0);
      const from = box.offsets[i] as number;
      const copy = (box.sources[i] as Uint8Array).subarray(from, from + size);
      expect(Buffer.compare(copy, filled(size, n))).toBe(0);
      box.dropFirst();
      held.push(staging.queuedBytes - size);
    }
    const chunk = STAGING_CHUNK_BYTES;
    expect(held).toEqual([2 * chunk, 2 * chunk, chunk, chunk, chunk, 0, -size]);
  });

  it("takes little for little, so that many partitions with one small batch each hold little", () => {
    const staging = new Staging(STAGING_CHUNK_BYTES);
    for (let n = 0; n < 100; n++) {
      const box = new Mailbox(staging);
      push(box, n, filled(100, 1));
      box.stage(ErrorCodes.OVERLOADED);
    }
    expect(staging.queuedBytes).toBe(10_000);
  });

  it("takes a batch that is larger than a chunk", () => {
    const staging = new Staging(10 * STAGING_CHUNK_BYTES);
    const box = new Mailbox(staging);
    push(box, 1, filled(3 * STAGING_CHUNK_BYTES, 1));
    box.stage(ErrorCodes.OVERLOADED);
    expect(staging.queuedBytes).toBe(3 * STAGING_CHUNK_BYTES);
    box.dropFirst();
    expect(staging.queuedBytes).toBe(0);
  });

  it("uses a chunk again, but not one that a worker may still read", () => {
    const staging = new Staging(10 * STAGING_CHUNK_BYTES);
    const box = new Mailbox(staging);
    const chunkOf = (): Uint8Array => {
      push(box, 1, filled(STAGING_CHUNK_BYTES, 1));
      box.stage(ErrorCodes.OVERLOADED);
      return box.sources[box.slot(0)] as Uint8Array;
    };
    const first = chunkOf();
    box.dropFirst();
    const second = chunkOf();
    expect(second === first).toBe(true);
    box.firstIsBeingRead = true;
    box.refuseAll(ErrorCodes.STORAGE_FAILURE);
    box.firstIsBeingRead = false;
    expect(chunkOf() === second).toBe(false);
    expect(staging.queuedBytes).toBe(STAGING_CHUNK_BYTES);
  });

  it("fits what fits near the bound, and refuses the newest, in order", () => {
    told.length = 0;
    const staging = new Staging(STAGING_CHUNK_BYTES + 1000);
    const box = new Mailbox(staging);
    push(box, 1, filled(STAGING_CHUNK_BYTES, 1));
    push(box, 2, filled(600, 2));
    push(box, 3, filled(600, 3));
    push(box, 4, filled(1, 4));
    box.stage(ErrorCodes.OVERLOADED);
    expect(told).toEqual([
      [3, ErrorCodes.OVERLOADED],
      [4, ErrorCodes.OVERLOADED],
    ]);
    expect(box.size).toBe(2);
    expect(staging.queuedBytes).toBeLessThanOrEqual(staging.maxBytes);
  });
});

describe("the mailbox", () => {
  it("keeps its order while its ring grows, wraps round and shrinks", () => {
    const box = new Mailbox(new Staging(0));
    const bytes = filled(1, 1);
    let came = 0;
    let left = 0;
    for (let round = 0; round < 50; round++) {
      for (let n = 0; n < 7 + round; n++) push(box, came++, bytes);
      for (let n = 0; n < 5 + round / 2 && box.size > 0; n++) {
        expect(box.tokens[box.slot(0)]).toBe(left++);
        box.dropFirst();
      }
    }
    expect(box.size).toBe(came - left);
    expect(box.bytes).toBe(came - left);
    while (box.size > 0) {
      expect(box.tokens[box.slot(0)]).toBe(left++);
      box.dropFirst();
    }
    expect(box.tokens.length).toBeGreaterThan(MAILBOX_ENTRIES_FIRST);
    box.trim();
    expect(box.tokens.length).toBe(MAILBOX_ENTRIES_FIRST);
    push(box, 7, bytes);
    expect(box.tokens[box.slot(0)]).toBe(7);
  });

  it("says when what waited has left, also when a newer batch was refused meanwhile", async () => {
    const box = new Mailbox(new Staging(100));
    push(box, 1, filled(60, 1));
    box.stage(ErrorCodes.OVERLOADED);
    push(box, 2, filled(60, 2));
    let drained = false;
    void box.drained().then(() => {
      drained = true;
    });
    box.stage(ErrorCodes.OVERLOADED);
    await Promise.resolve();
    expect(drained).toBe(false);
    box.dropFirst();
    box.notifyDrained();
    await Promise.resolve();
    expect(drained).toBe(true);
  });
});
