// Apart from the making of ids, which browsers can't.

/** Crockford's alphabet in lower case: sorts like its numbers, and has no look-alikes. */
export const ID_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** 50 bits of milliseconds: good for 35,000 years. */
export const TIME_CHARACTERS = 10;

/** Milliseconds since the Unix epoch from the beginning of a text such as an id without its prefix. */
export function decodeTime(text: string): number {
  let time = 0;
  for (const character of text.slice(0, TIME_CHARACTERS)) time = time * 32 + ID_ALPHABET.indexOf(character);
  return time;
}
