const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Colour = keyof typeof CODES;
export type Paint = (colour: Colour, text: string) => string;

/** Colours only on a terminal, and not with NO_COLOR: https://no-color.org */
export function choosePaint(
  stream: { readonly isTTY?: boolean },
  { NO_COLOR = '', TERM }: Readonly<Record<string, string | undefined>>,
): Paint {
  const isColoured = stream.isTTY === true && NO_COLOR === '' && TERM !== 'dumb';
  return isColoured ? (colour, text) => `\u001b[${CODES[colour]}m${text}\u001b[0m` : (_, text) => text;
}

const BY_WORD: Readonly<Record<string, Colour>> = {
  active: 'green',
  delivered: 'green',
  done: 'green',
  enabled: 'green',
  cancelled: 'dim',
  superseded: 'dim',
  held: 'yellow',
  pending: 'yellow',
  disabled: 'yellow',
  erasing: 'yellow',
  paused: 'yellow',
  aborted: 'red',
  exhausted: 'red',
  failed: 'red',
};

/** A status or an outcome in its colour. What it is about may follow a colon. */
export function paintStatus(paint: Paint, text: string): string {
  const [word = ''] = text.split(':', 1);
  const colour = BY_WORD[word];
  return colour === undefined ? text : paint(colour, text);
}
