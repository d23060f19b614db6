// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** One line of text that does nothing to a terminal: names and responses are written by others. */
export function visible(text: string): string {
  return text.replace(CONTROL, (character) => {
    if (character === '\n') return '⏎';
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
}
