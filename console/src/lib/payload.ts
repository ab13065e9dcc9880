// A payload as text, JSON or hex. It is anybody's bytes: nothing here trusts that they are what they look like.

export type PayloadKind = "text" | "json" | "hex";

export function decodeBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** UTF-8, with the sign for a wrong byte where there is one. */
export const decodeText = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what it is about
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Controls that would be invisible or move what stands beside them become their pictures; line ends and tabs stay. */
export function visible(text: string): string {
  return text.replace(CONTROLS, (char) => {
    const code = char.charCodeAt(0);
    if (code === 0x7f) return "␡";
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `⟨U+${code.toString(16).toUpperCase()}⟩`;
  });
}

/** One line of it, for a list. Controls are dots there: a picture of each would be all that is seen of a binary payload. */
export const preview = (bytes: Uint8Array, length = 200): string =>
  decodeText(bytes.subarray(0, length * 4))
    .replace(/\r?\n/g, "⏎")
    .replace(/\t/g, "⇥")
    .replace(CONTROLS, "·")
    .slice(0, length);

/** How it is best shown at first. `cut`: its end is not here, so that JSON could not be whole. */
export function guessKind(bytes: Uint8Array, cut: boolean): PayloadKind {
  if (!looksLikeText(bytes, cut)) return "hex";
  return !cut && /^\s*[[{]/.test(decodeText(bytes.subarray(0, 64))) && whyNoJson(decodeText(bytes)) === undefined
    ? "json"
    : "text";
}

function whyNoJson(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function looksLikeText(bytes: Uint8Array, cut: boolean): boolean {
  try {
    // A cut may lie within a character.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: cut });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what it is about
    return !/[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text);
  } catch {
    return false;
  }
}

export type Indented = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string };

/** Nobody reads lines that begin further to the right, and a level costs two signs in every line within it. */
export const JSON_DEPTH_MAX = 100;
/** A browser lays out so many signs in some hundredths of a second; it is twice what the broker sends of a payload. */
export const JSON_LENGTH_MAX = 512 * 1024;

/**
 * JSON with its lines indented and everything else as it was written: parsing and writing it again would round long numbers and
 * drop a key that is there twice, which may be what somebody looks for. Bounded, as its length grows with the square of the depth.
 */
export function indentJson(text: string): Indented {
  const wrong = whyNoJson(text);
  if (wrong !== undefined) return { ok: false, why: `Not JSON: ${wrong}` };
  let depth = 0;
  let length = 0;
  const out: string[] = [];
  const put = (piece: string): void => {
    out.push(piece);
    length += piece.length;
  };
  const line = (): void => put(`\n${"  ".repeat(depth)}`);
  // Strings as wholes, then single signs; what JSON.parse took has nothing else.
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? [];
  for (const [at, token] of tokens.entries()) {
    if (token === "{" || token === "[") {
      depth++;
      const next = tokens[at + 1];
      put(token);
      if (next !== "}" && next !== "]") line();
    } else if (token === "}" || token === "]") {
      depth--;
      const before = tokens[at - 1];
      if (before !== "{" && before !== "[") line();
      put(token);
    } else {
      put(token === ":" ? ": " : token);
      if (token === ",") line();
    }
    if (depth > JSON_DEPTH_MAX) return { ok: false, why: `JSON that is nested too deep (more than ${JSON_DEPTH_MAX})` };
    if (length > JSON_LENGTH_MAX) return { ok: false, why: `JSON that is too long with its lines indented` };
  }
  return { ok: true, text: out.join("") };
}

/** `00000010  6d 69 6c 6c 72 61 63 65  00 ff …  |millrace..|`, sixteen bytes a line. */
export function hexLines(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = Array.from(bytes.subarray(at, at + 16));
    const hex = row.map((byte, place) => byte.toString(16).padStart(2, "0") + (place === 7 ? " " : "")).join(" ");
    const text = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(48)}  ${text}`);
  }
  return lines.join("\n");
}
