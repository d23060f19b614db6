const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gy;
const SPACE = /\s*/y;

interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A member of the outermost object as it is written. `text` is well-formed JSON. */
export function memberText(text: string, name: string): string | undefined {
  let depth = 0;
  let start: number | undefined;
  let former: Token | undefined;
  let beforeFormer: Token | undefined;
  for (const token of tokensOf(text)) {
    const ends = depth === 1 && (token.text === ',' || token.text === '}');
    if (ends && start !== undefined) return text.slice(start, former?.end);
    if (token.text === '{' || token.text === '[') depth += 1;
    if (token.text === '}' || token.text === ']') depth -= 1;
    // The member's value begins after its name and the colon.
    const isValue = former?.text === ':' && beforeFormer?.text === JSON.stringify(name);
    const depthBefore = token.text === '{' || token.text === '[' ? depth - 1 : depth;
    if (isValue && depthBefore === 1) start = token.start;
    beforeFormer = former;
    former = token;
  }
  return undefined;
}

/** The same JSON with line breaks and two spaces a level. Numbers, strings and names stay as they are written. */
export function prettyJson(text: string): string {
  const parts: string[] = [];
  let depth = 0;
  const line = () => parts.push(`\n${'  '.repeat(depth)}`);
  let former = '';
  for (const { text: token } of tokensOf(text)) {
    const opens = token === '{' || token === '[';
    const closes = token === '}' || token === ']';
    if (closes) depth -= 1;
    const isEmpty = closes && (former === '{' || former === '[');
    if (former === ',' || (!isEmpty && (closes || former === '{' || former === '['))) line();
    parts.push(token === ':' ? ': ' : token);
    if (opens) depth += 1;
    former = token;
  }
  return parts.join('');
}

/** A body that code made may be anything. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function* tokensOf(text: string): Generator<Token, void, undefined> {
  let at = 0;
  while (at < text.length) {
    SPACE.lastIndex = at;
    SPACE.exec(text);
    TOKEN.lastIndex = SPACE.lastIndex;
    const [token] = TOKEN.exec(text) ?? [];
    if (token === undefined) return;
    const start = TOKEN.lastIndex - token.length;
    at = TOKEN.lastIndex;
    yield { text: token, start, end: at };
  }
}
