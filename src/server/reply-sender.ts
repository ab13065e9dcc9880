// Gathers what a flush sends: reply bytes in an arena, a row for each connection and file slice, and hands both to the
// selector in one call, or in several when they do not fit. It must not know what the bytes say.

import { FLUSH_ROWS, REPLY_ARENA_BYTES } from "../model/limits.js";
import { FLUSH_COLUMNS, FlushColumn, type NativeFile, type NativeSelector } from "../native/binding.js";

const NO_FILE = -1;

/** How the bytes of a row and its slice belong to an answer: see {@link FlushColumn}. */
export interface Within {
  readonly head: number;
  readonly instead: number;
  readonly continues: boolean;
}
const WHOLE: Within = { head: 0, instead: 0, continues: false };
/** Of an answer of which rows stand before. */
export const CONTINUED: Within = { head: 0, instead: 0, continues: true };

export class ReplySender {
  readonly arena = new Uint8Array(REPLY_ARENA_BYTES);
  readonly view = new DataView(this.arena.buffer);
  readonly rows = new Int32Array(FLUSH_ROWS * FLUSH_COLUMNS);
  /** Where the next byte goes. */
  at = 0;
  private rowFrom = 0;
  private rowCount = 0;
  private readonly files: NativeFile[] = [];
  private selector: NativeSelector | undefined = undefined;

  /** The selector takes the arenas when it is made, so it comes here afterwards. */
  attach(selector: NativeSelector): void {
    this.selector = selector;
  }

  /** Makes room for `bytes` (at most the arena) of one connection; what was written for it so far is sent on the way. */
  reserve(connection: number, completed: number, bytes: number, within: Within = WHOLE): boolean {
    if (this.at + bytes <= this.arena.length) return false;
    this.endRow(connection, completed, within);
    this.send();
    return true;
  }

  /** Bytes that were written since the last row belong to the connection; `completed` of its requests are done with them. */
  endRow(connection: number, completed: number, within: Within = WHOLE): void {
    if (this.at > this.rowFrom || completed > 0) this.row(connection, completed, NO_FILE, 0, 0, within);
  }

  /** As {@link endRow}, with a slice of a file behind the bytes. The last `within.instead` of them are for the case that it fails. */
  endRowWithSlice(
    connection: number,
    completed: number,
    file: NativeFile,
    position: number,
    bytes: number,
    within: Within,
  ): void {
    if (this.files.length === 0 || this.files[this.files.length - 1] !== file) this.files.push(file);
    this.row(connection, completed, this.files.length - 1, position, bytes, within);
  }

  /** Bytes of any number, in as many calls as it takes. */
  write(connection: number, bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      if (this.at === this.arena.length) this.reserve(connection, 0, 1);
      const count = Math.min(bytes.length - from, this.arena.length - this.at);
      this.arena.set(bytes.subarray(from, from + count), this.at);
      this.at += count;
      from += count;
    }
  }

  /** Hands everything to the selector. False: there was nothing. */
  send(): boolean {
    const any = this.rowCount > 0;
    if (any) this.selector?.flush(this.rowCount, this.files);
    this.rowCount = 0;
    this.files.length = 0;
    this.at = 0;
    this.rowFrom = 0;
    return any;
  }

  private row(
    connection: number,
    completed: number,
    file: number,
    position: number,
    bytes: number,
    within: Within,
  ): void {
    const { rows } = this;
    const row = this.rowCount * FLUSH_COLUMNS;
    rows[row + FlushColumn.CONNECTION] = connection;
    rows[row + FlushColumn.OFFSET] = this.rowFrom;
    rows[row + FlushColumn.LENGTH] = this.at - this.rowFrom - within.instead;
    rows[row + FlushColumn.COMPLETED] = completed;
    rows[row + FlushColumn.FILE] = file;
    rows[row + FlushColumn.POSITION] = position;
    rows[row + FlushColumn.SLICE_BYTES] = bytes;
    rows[row + FlushColumn.HEAD] = within.head;
    rows[row + FlushColumn.INSTEAD] = within.instead;
    rows[row + FlushColumn.CONTINUES] = within.continues ? 1 : 0;
    this.rowFrom = this.at;
    if (++this.rowCount === FLUSH_ROWS) this.send();
  }
}
