// How a record is printed: literal text and the four things that are known of it.

import type { RecordBatch } from "../../client/record-batch.js";
import { Usage } from "../failure.js";
import type { Output } from "../output.js";
import { unescaped } from "../values.js";

/** Appends one record of a batch to the output. */
type Piece = (output: Output, batch: RecordBatch, index: number) => void;

const FIELDS: Readonly<Record<string, Piece>> = {
  t: (output, batch) => output.text(batch.topic),
  p: (output, batch) => output.text(String(batch.partition)),
  o: (output, batch, index) => output.text(String(batch.baseOffset + index)),
  s: (output, batch, index) => output.append(batch.bytes, batch.ranges[2 * index], batch.ranges[2 * index + 1]),
};

export class Format {
  private readonly pieces: readonly Piece[];

  /** `%t` topic, `%p` partition, `%o` offset, `%s` payload, `%%` a percent sign, and escapes. Throws {@link Usage}. */
  constructor(written: string) {
    const parts = unescaped(written).split(/(%.?)/s);
    this.pieces = parts.filter((part) => part !== "").map(pieceOf);
  }

  print(output: Output, batch: RecordBatch, index: number): void {
    for (const piece of this.pieces) piece(output, batch, index);
  }
}

function pieceOf(part: string): Piece {
  if (part === "%%") return literal("%");
  if (!part.startsWith("%")) return literal(part);
  const field = FIELDS[part.slice(1)];
  if (field !== undefined) return field;
  throw new Usage(`--format has ${part}: expected %t topic, %p partition, %o offset, %s payload or %%`);
}

function literal(text: string): Piece {
  const bytes = Buffer.from(text);
  return (output) => output.append(bytes, 0, bytes.length);
}
