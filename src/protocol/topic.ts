// A topic's name inside a request that is written straight into an arena: string, as everywhere.

/** Writes a name that has been checked (each of its characters is one byte). Returns its end. */
export function putTopic(view: DataView, at: number, topic: string): number {
  view.setUint16(at, topic.length);
  let to = at + 2;
  for (let i = 0; i < topic.length; i++) view.setUint8(to++, topic.charCodeAt(i));
  return to;
}
