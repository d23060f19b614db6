import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '@hookferry/core/kernel/json';

export interface JsonBounds {
  /** Arrays and objects within each other. */
  readonly maxDepth: number;
  /** Values at all depths together: items, members, and what is around them. */
  readonly maxValues: number;
}

/**
 * Which bound a JSON text in UTF-8 passes, if any: found before it is parsed, in one pass without a copy. What is no JSON
 * may pass one or not; its parser will tell.
 *
 * What counts is commas and opening brackets: no text has more values than these and one, and only arrays and objects
 * with nothing in them count for two.
 */
export function passedJsonBound(
  bytes: Uint8Array,
  { maxDepth, maxValues }: JsonBounds,
): 'depth' | 'values' | undefined {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === COMMA) values += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      values += 1;
      depth += 1;
      if (depth > maxDepth) return 'depth';
    }
  }
  return values > maxValues ? 'values' : undefined;
}

/** Where the string that begins at `start` has its last quote. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
