// Tables on stdout: columns for people, or a JSON value a line for programs, so that a table and a stream are read alike.

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number;
}

/** Columns padded to their widest value, numbers to the right. A line for each row, the titles first. */
export function tableText<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = rows.map((row) => columns.map(({ value }) => value(row)));
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...cells.map((line) => String(line[i]).length)));
  const isNumber = columns.map((_, i) => cells.length > 0 && cells.every((line) => typeof line[i] === "number"));
  const line = (values: readonly (string | number)[]) =>
    values
      .map((value, i) => (isNumber[i] ? String(value).padStart(widths[i]) : String(value).padEnd(widths[i])))
      .join("  ")
      .trimEnd();
  return [columns.map(({ title }) => title), ...cells].map((values) => `${line(values)}\n`).join("");
}

/** A line for each row. */
export const jsonLines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
