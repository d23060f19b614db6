/** Structural characters of JSON: the same as a byte of UTF-8 and as a code unit of a string. */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const OPEN_ARRAY = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/**
 * Find parts of a JSON text unchanged, byte for byte: JSON.parse changes some numbers and drops members named
 * twice. Only for texts that JSON.parse has accepted, so nothing is checked again.
 */

// Between values there is only white space, with codes up to this one.
const SPACE = 0x20;

/** The text of a member of the object in `json`: of the last one of that name, which JSON.parse keeps. */
export function textOfMember(json: string, name: string): string | undefined {
  let found: string | undefined;
  let at = skipSpace(json, 0);
  while (json[at] === '{' || json[at] === ',') {
    const nameAt = skipSpace(json, at + 1);
    if (json[nameAt] === '}') break;
    const nameEnd = endOfString(json, nameAt);
    // Past the colon.
    const valueAt = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const valueEnd = endOfValue(json, valueAt);
    if (readName(json.slice(nameAt, nameEnd)) === name) found = json.slice(valueAt, valueEnd);
    at = skipSpace(json, valueEnd);
  }
  return found;
}

/** The nesting of arrays and objects. */
export function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at) - 1;
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth += 1;
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1;
    if (depth > deepest) deepest = depth;
  }
  return deepest;
}

function endOfValue(json: string, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at) - 1;
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth += 1;
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1;
    // A number or a word ends at the first character that can't be part of it.
    else if (depth > 0 || !endsScalar(json, at + 1)) continue;
    if (depth === 0) return at + 1;
  }
  return json.length;
}

function endsScalar(json: string, at: number): boolean {
  const code = json.charCodeAt(at);
  return code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY || code <= SPACE;
}

export function endOfString(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return json.length;
}

// Names may be written with escapes: "d\u0061ta" is "data".
function readName(text: string): unknown {
  return text.includes('\\') ? JSON.parse(text) : text.slice(1, -1);
}

function skipSpace(json: string, start: number): number {
  let at = start;
  while (json.charCodeAt(at) <= SPACE) at += 1;
  return at;
}

/** Parse a text; `undefined` if it is not JSON. */
export function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a media type says that its text is JSON: `application/json`, `application/problem+json; charset=utf-8`. */
export function isJsonType(mediaType: string): boolean {
  return /^[^;]*[/+]json[\t ]*(?:;|$)/i.test(mediaType);
}
