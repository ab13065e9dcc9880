// What a topic may be called: 1 to 249 bytes of [A-Za-z0-9._-], so that `<topic>-<partition>` is a file name everywhere.

import { TOPIC_NAME_MAX } from "./limits.js";

/** The rule in one sentence, for messages to people. */
export const TOPIC_NAME_RULE = `1 to ${TOPIC_NAME_MAX} characters of A-Z a-z 0-9 . _ -`;

const ALLOWED = new Uint8Array(256);
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") {
  ALLOWED[character.charCodeAt(0)] = 1;
}

/** Whether the text is a topic name. */
export function isTopicName(name: string): boolean {
  if (name.length === 0 || name.length > TOPIC_NAME_MAX) return false;
  for (let i = 0; i < name.length; i++) {
    const unit = name.charCodeAt(i);
    if (unit > 0xff || ALLOWED[unit] === 0) return false;
  }
  return true;
}

/** The same for bytes, without making a string of them: the allowed characters are one byte each in UTF-8. */
export function isTopicNameAt(view: DataView, from: number, bytes: number): boolean {
  if (bytes === 0 || bytes > TOPIC_NAME_MAX) return false;
  for (let at = from; at < from + bytes; at++) {
    if (ALLOWED[view.getUint8(at)] === 0) return false;
  }
  return true;
}
