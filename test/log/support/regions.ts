// Record regions as a producer sends them: count × (int32 size | payload).

export function region(payloads: readonly (string | Uint8Array)[]): Uint8Array {
  const bodies = payloads.map((payload) => (typeof payload === "string" ? Buffer.from(payload) : payload));
  const whole = new Uint8Array(bodies.reduce((sum, body) => sum + 4 + body.length, 0));
  const view = new DataView(whole.buffer);
  let at = 0;
  for (const body of bodies) {
    view.setInt32(at, body.length);
    whole.set(body, at + 4);
    at += 4 + body.length;
  }
  return whole;
}

/** The payloads of a region, or undefined when it is not exactly `records` of them. */
export function payloadsOf(bytes: Uint8Array, records: number): string[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const payloads: string[] = [];
  let at = 0;
  for (let n = 0; n < records; n++) {
    if (at + 4 > bytes.length) return undefined;
    const size = view.getInt32(at);
    if (size < 1 || at + 4 + size > bytes.length) return undefined;
    payloads.push(Buffer.from(bytes.subarray(at + 4, at + 4 + size)).toString("latin1"));
    at += 4 + size;
  }
  return at === bytes.length ? payloads : undefined;
}
