// The table of one native append: the same batch, `rows` times.

import { APPEND_COLUMNS, AppendColumn } from "../../src/native/binding.js";

export function appendTable(writer: number, bytes: number, records: number, rows: number): Int32Array {
  const table = new Int32Array(rows * APPEND_COLUMNS);
  for (let row = 0; row < rows; row++) {
    const at = row * APPEND_COLUMNS;
    table[at + AppendColumn.WRITER] = writer;
    table[at + AppendColumn.BYTES] = bytes;
    table[at + AppendColumn.RECORDS] = records;
  }
  return table;
}
