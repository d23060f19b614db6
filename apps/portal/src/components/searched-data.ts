import { depthOf, parsedOrUndefined } from '@hookferry/core/platform/json';
import { t } from '@lingui/core/macro';
import { formatCount } from '../language/formats';

const MAX_BYTES = 1_024;
const MAX_DEPTH = 8;
const EXAMPLE = '{"order":{"id":4711}}';

/** Values of these kinds are looked for at any place of the data. */
const TEXT_OR_NUMBER = /^["\d-]/;
const MEMBER = /^([^\s={}"[\]]+)\s*=\s*(.+)$/s;

/** How people write a search for data, in every field that takes one. */
export const SEARCH_EXAMPLES = t`4711, or order.id=4711`;

/**
 * The search that a text means, as the API takes it: `order.id=4711` and `{"order":{"id":4711}}` are a member with its
 * value, and anything else is a value at any place. '' is no search.
 */
export function searchOf(typed: string): string {
  const text = typed.trim();
  if (text === '' || text.startsWith('{') || text.startsWith('[')) return text;
  return memberSearchOf(text) ?? (isTextOrNumber(text) ? text : JSON.stringify(text));
}

/** `order.id=4711` as an object; undefined for any other text. An address may have a query. */
export function memberSearchOf(text: string): string | undefined {
  const [, path, value] = MEMBER.exec(text) ?? [];
  if (path === undefined || value === undefined || path.includes('://')) return undefined;
  // What is no JSON is a text: `order.name=Ada`.
  const leaf = parsedOrUndefined(value) === undefined ? JSON.stringify(value) : value;
  return path.split('.').reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, leaf);
}

/** The shortest text that means this search. */
export function typedOf(search: string): string {
  const value = parsedOrUndefined(search);
  return typeof value === 'string' && searchOf(value) === search ? value : search;
}

/** Why the API would not take a search; `undefined`: it would. Nothing is searched for by ''. */
export function faultOfSearch(search: string): string | undefined {
  if (search === '') return undefined;
  const value = parsedOrUndefined(search);
  if (value === undefined) return t`This is not JSON. Names and texts need double quotes: ${EXAMPLE}`;
  const most = formatCount(MAX_BYTES);
  if (new TextEncoder().encode(search).length > MAX_BYTES) return t`This is too long: at most ${most} bytes.`;
  if (isTextOrNumber(search.trim())) return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return t`This is not a JSON object. It must look like this: ${EXAMPLE}`;
  }
  return depthOf(search) > MAX_DEPTH ? t`This is nested too deeply: at most ${MAX_DEPTH} levels.` : undefined;
}

function isTextOrNumber(text: string): boolean {
  return TEXT_OR_NUMBER.test(text) && parsedOrUndefined(text) !== undefined;
}
