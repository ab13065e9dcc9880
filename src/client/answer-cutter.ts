// Cuts the stream of bytes from a broker into answers. One that came whole is handed over where it lies, in the read buffer;
// one that did not is gathered in a buffer of its own, and while much of it is missing the socket reads straight into that. A
// payload is so copied at most once, a large one only in its first part, and small answers never.

import { MillraceError } from "../model/errors.js";
import { CLIENT_READ_HEAD_BYTES, CLIENT_READ_IN_PLACE_BYTES } from "../model/limits.js";
import { LENGTH_BYTES, RESPONSE_HEADER_BYTES } from "../protocol/frame.js";
import { answerMemory } from "./answer-memory.js";

export interface AnswerSink {
  /** How many bytes the next answer may have behind its length prefix. Throws BAD_RESPONSE when none is expected. */
  nextAnswerBytesMax(): number;
  /**
   * An answer, `[from, end)`, behind its length prefix. When `owned`, the bytes are the sink's to keep; if not, they are
   * overwritten after the call.
   */
  answer(view: DataView, from: number, end: number, owned: boolean): void;
}

export class AnswerCutter {
  private readonly view: DataView;
  /** A length prefix that came in pieces. */
  private readonly prefix = new DataView(new ArrayBuffer(LENGTH_BYTES));
  private prefixBytes = 0;
  /** An answer that comes in pieces. */
  private gathering: Uint8Array | undefined;
  private gathered = 0;
  /** The next bytes are read into what is being gathered. */
  private inPlace = false;
  /** The last answer was large, and so will the next one be. */
  private lastWasLarge = false;
  private readonly headRoom: Uint8Array;

  constructor(
    /** What the socket reads into, mostly. */
    private readonly buffer: Uint8Array,
    private readonly sink: AnswerSink,
  ) {
    this.view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    this.headRoom = buffer.subarray(0, CLIENT_READ_HEAD_BYTES);
  }

  /** What the socket is to read into next; what it has read is to be taken before it is asked for again. */
  room(): Uint8Array {
    const { gathering, gathered } = this;
    this.inPlace = gathering !== undefined && gathering.length - gathered >= CLIENT_READ_IN_PLACE_BYTES;
    if (this.inPlace && gathering !== undefined) return gathering.subarray(gathered);
    // What comes with the head of a large answer is copied once more: not much.
    return this.lastWasLarge && gathering === undefined ? this.headRoom : this.buffer;
  }

  /** Takes the first `bytes` bytes of what was read into. Throws BAD_RESPONSE: nobody knows then where the next answer begins. */
  take(bytes: number): void {
    if (this.inPlace && this.gathering !== undefined) {
      this.inPlace = false;
      this.grown(this.gathering, bytes);
      return;
    }
    let at = 0;
    while (at < bytes) {
      if (this.gathering !== undefined) at += this.gather(this.gathering, at, bytes);
      else if (this.prefixBytes > 0 || bytes - at < LENGTH_BYTES) at += this.gatherPrefix(at, bytes);
      else at = this.cut(at, bytes);
    }
  }

  private cut(at: number, bytes: number): number {
    const length = this.checked(this.view.getInt32(at));
    const from = at + LENGTH_BYTES;
    if (from + length > bytes) {
      this.begin(length);
      return from;
    }
    this.lastWasLarge = false;
    this.sink.answer(this.view, from, from + length, false);
    return from + length;
  }

  private gatherPrefix(at: number, bytes: number): number {
    const taken = Math.min(LENGTH_BYTES - this.prefixBytes, bytes - at);
    for (let i = 0; i < taken; i++) this.prefix.setUint8(this.prefixBytes + i, this.buffer[at + i]);
    this.prefixBytes += taken;
    if (this.prefixBytes === LENGTH_BYTES) {
      this.prefixBytes = 0;
      this.begin(this.checked(this.prefix.getInt32(0)));
    }
    return taken;
  }

  private checked(length: number): number {
    const max = this.sink.nextAnswerBytesMax();
    if (length >= RESPONSE_HEADER_BYTES && length <= max) return length;
    throw new MillraceError(
      "BAD_RESPONSE",
      `an answer of ${length} bytes came where ${RESPONSE_HEADER_BYTES} to ${max} can be`,
    );
  }

  private begin(length: number): void {
    // All at once, though a broker's word is all there is for it: the length is within what this client asked for, and
    // pages that no byte arrives for are never touched.
    this.gathering = answerMemory(length);
    this.lastWasLarge = length > this.buffer.length;
    this.gathered = 0;
  }

  private gather(answer: Uint8Array, at: number, bytes: number): number {
    const taken = Math.min(answer.length - this.gathered, bytes - at);
    answer.set(this.buffer.subarray(at, at + taken), this.gathered);
    this.grown(answer, taken);
    return taken;
  }

  private grown(answer: Uint8Array, bytes: number): void {
    this.gathered += bytes;
    if (this.gathered < answer.length) return;
    this.gathering = undefined;
    this.sink.answer(new DataView(answer.buffer, answer.byteOffset, answer.byteLength), 0, answer.length, true);
  }
}
