// The heap is told once, by a large answer, to keep what was freed.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { CLIENT_HEAP_LESSON_BYTES, CLIENT_LARGE_ANSWER_BYTES } from "../../src/model/limits.js";

let answerMemory: (bytes: number) => Uint8Array;
const allocate = vi.spyOn(Buffer, "allocUnsafeSlow");

/** Blocks that were asked for and are no answer. */
const lessons = () => allocate.mock.calls.filter(([bytes]) => bytes === CLIENT_HEAP_LESSON_BYTES).length;

beforeEach(async () => {
  vi.resetModules();
  ({ answerMemory } = await import("../../src/client/answer-memory.js"));
  allocate.mockReset();
});

describe("memory for answers", () => {
  it("of the usual size leaves the heap as it is", () => {
    for (let i = 0; i < 3; i++) expect(answerMemory(CLIENT_LARGE_ANSWER_BYTES - 1)).toHaveLength(2 ** 21 - 1);
    expect(lessons()).toBe(0);
  });

  it("that is large makes it keep what was freed, by one block for all of them", () => {
    for (let i = 0; i < 3; i++) expect(answerMemory(CLIENT_LARGE_ANSWER_BYTES)).toHaveLength(2 ** 21);
    expect(lessons()).toBe(1);
  });

  it("is there all the same where there is no room for that block", () => {
    allocate.mockImplementationOnce(() => {
      throw new RangeError("Array buffer allocation failed");
    });
    expect(answerMemory(CLIENT_LARGE_ANSWER_BYTES)).toHaveLength(2 ** 21);
    expect(answerMemory(CLIENT_LARGE_ANSWER_BYTES)).toHaveLength(2 ** 21);
    expect(lessons()).toBe(1);
  });
});
