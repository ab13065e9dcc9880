// Branded numbers: mixing up an offset (counts records of a partition) and a position (counts bytes of a segment file)
// does not compile. Convert once, where bytes are decoded.

declare const brand: unique symbol;

/** A record's number inside its partition: 0, 1, 2, … A safe integer; the wire's int64 is checked against 2^53. */
export type Offset = number & { readonly [brand]: "Offset" };
/** A byte position inside one segment file. */
export type Position = number & { readonly [brand]: "Position" };
/** A partition's number inside its topic, from 0. */
export type PartitionId = number & { readonly [brand]: "PartitionId" };

export const offset = (value: number): Offset => value as Offset;
export const position = (value: number): Position => value as Position;
export const partitionId = (value: number): PartitionId => value as PartitionId;
