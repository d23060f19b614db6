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

/** What a part of JSON is. `space` is what stands between the others. */
export type JsonKind = 'name' | 'text' | 'number' | 'word' | 'sign' | 'space';

export interface JsonPart {
  readonly kind: JsonKind;
  readonly text: string;
}

/** A line of JSON as it is written. */
export interface JsonLine {
  readonly parts: readonly JsonPart[];
  /** The line that ends the member which begins on this one; absent: no member goes on behind it. */
  readonly endsAt?: number;
}

/** The lines of well-formed JSON, without their line breaks. */
export function jsonLines(text: string): readonly JsonLine[] {
  const lines: { parts: { kind: JsonKind; text: string }[]; endsAt?: number }[] = [{ parts: [] }];
  const openedOn: number[] = [];
  let former: { kind: JsonKind; text: string } | undefined;
  let at = 0;
  for (const { text: token, start, end } of tokensOf(text)) {
    const [space = '', ...further] = text.slice(at, start).split('\n');
    if (space !== '') lines.at(-1)?.parts.push({ kind: 'space', text: space });
    for (const lead of further) lines.push({ parts: lead === '' ? [] : [{ kind: 'space', text: lead }] });
    at = end;
    if (token === '{' || token === '[') openedOn.push(lines.length - 1);
    if (token === '}' || token === ']') {
      const opened = openedOn.pop() ?? 0;
      const line = lines[opened];
      if (line && opened < lines.length - 1) line.endsAt = lines.length - 1;
    }
    if (token === ':' && former) former.kind = 'name';
    former = { kind: kindOf(token), text: token };
    lines.at(-1)?.parts.push(former);
  }
  return lines;
}

function kindOf(token: string): JsonKind {
  if (token.startsWith('"')) return 'text';
  if (/^[{}[\],:]$/.test(token)) return 'sign';
  return /^[tfn]/.test(token) ? 'word' : 'number';
}
