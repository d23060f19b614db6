const MOST_CHARACTERS = 100;

/** For what a client has sent and an error names: an answer is not to be as long as the longest name. */
export function shorten(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  // Half of a surrogate pair is no text.
  const cut = text.slice(0, MOST_CHARACTERS).replace(/[\uD800-\uDBFF]$/, '');
  return `${cut}…`;
}
