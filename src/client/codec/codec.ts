// What a codec is: a value to bytes and back. Codecs are in the client alone; to the broker a record is bytes.

/** Makes payloads of values and values of payloads. Any object with these two functions is one. */
export interface Codec<T> {
  /**
   * The payload of a value: at least one byte, since there are no empty records. Throws when the value has none; `send` then rejects
   * with that.
   */
  encode(value: T): Uint8Array;
  /**
   * The value of a payload. It may keep views of the bytes, but must not change them. Throws for bytes that are none of its; readers
   * get that as the cause of a {@link PayloadError}.
   */
  decode(payload: Uint8Array): T;
}

/** The value that a codec is for: `ValueOf<typeof orders>`. */
export type ValueOf<C> = C extends Codec<infer T> ? T : never;
