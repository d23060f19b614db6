/** PostgreSQL accepts neither NUL nor half a surrogate pair in a text. */
const UNSTORABLE = /\p{Surrogate}|\0/u;
const ALL_UNSTORABLE = /\p{Surrogate}|\0/gu;
const REPLACEMENT = '\uFFFD';

/** Whether PostgreSQL can have such a text. */
export function isStorable(text: string): boolean {
  return !UNSTORABLE.test(text);
}

/** The text, with U+FFFD instead of each character that PostgreSQL can't have. */
export function storable(text: string): string {
  return text.replace(ALL_UNSTORABLE, REPLACEMENT);
}
