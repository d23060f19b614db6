// White space, then a mark, a string, or anything else. A string has no control characters: what it has begins with a space.
const TOKEN =
  /[ \t\n\r]*(?:([[\]{}:,])|("[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/y;
const SPACE = /[ \t\n\r]*/y;

/** What may come next. */
type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'comma or end';

export interface TextPlace {
  /** Counted from 1, the column in UTF-16 code units. */
  readonly line: number;
  readonly column: number;
}

// Looked at in a few milliseconds.
const TOKENS_AT_ONCE = 10_000;
const LINES_AT_ONCE = 100_000;

/** Where a text stops being JSON; `undefined` if it is JSON. JSON.parse tells it in some versions of Node.js only. */
export function findJsonFault(text: string): TextPlace | undefined {
  const search = searchJsonFault(text);
  for (;;) {
    const step = search.next();
    if (step.done === true) return step.value;
  }
}

/** The same in pieces, after each of which others may have their turn. */
export function* searchJsonFault(text: string): Generator<undefined, TextPlace | undefined> {
  const open: string[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (let tokens = 1; ; tokens += 1) {
    if (tokens % TOKENS_AT_ONCE === 0) yield;
    TOKEN.lastIndex = at;
    const [whole, mark, string, scalar] = TOKEN.exec(text) ?? [];
    const start = skipSpace(text, at);
    if (whole === undefined) {
      const isOver = start === text.length && expected === 'comma or end' && open.length === 0;
      return isOver ? undefined : yield* placeOf(text, start);
    }
    const next = follow(expected, open, mark ?? (string === undefined ? scalar && 'scalar' : 'string'));
    if (next === undefined) return yield* placeOf(text, start);
    expected = next;
    at += whole.length;
  }
}

/** What is expected after a token; `undefined` when it was not. */
function follow(expected: Expected, open: string[], token = ''): Expected | undefined {
  const takesValue = expected === 'value' || expected === 'value or ]';
  const takesName = expected === 'name' || expected === 'name or }';
  const isEnd = expected === 'comma or end';
  switch (token) {
    case '{':
    case '[':
      if (!takesValue) return undefined;
      open.push(token);
      return token === '{' ? 'name or }' : 'value or ]';
    case '}':
      return (isEnd || expected === 'name or }') && open.pop() === '{' ? 'comma or end' : undefined;
    case ']':
      return (isEnd || expected === 'value or ]') && open.pop() === '[' ? 'comma or end' : undefined;
    case ',':
      if (!isEnd || open.length === 0) return undefined;
      return open.at(-1) === '{' ? 'name' : 'value';
    case ':':
      return expected === 'colon' ? 'value' : undefined;
    case 'string':
      if (takesName) return 'colon';
      return takesValue ? 'comma or end' : undefined;
    default:
      return takesValue ? 'comma or end' : undefined;
  }
}

function skipSpace(text: string, at: number): number {
  SPACE.lastIndex = at;
  return at + (SPACE.exec(text)?.[0].length ?? 0);
}

function* placeOf(text: string, at: number): Generator<undefined, TextPlace> {
  let line = 1;
  let lineAt = 0;
  // Not by a list of lines: a body may be millions of them.
  for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', end + 1)) {
    line += 1;
    lineAt = end + 1;
    if (line % LINES_AT_ONCE === 0) yield;
  }
  return { line, column: at - lineAt + 1 };
}
