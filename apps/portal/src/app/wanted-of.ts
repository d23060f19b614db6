import { parsedOrUndefined } from '@hookferry/core/platform/json';

/** What a search is for. */
export type Wanted =
  /** It is shown there, if it exists. */
  | { readonly kind: 'place'; readonly href: string }
  /** Events whose data contain this JSON object. */
  | { readonly kind: 'data'; readonly json: string }
  /** An id or a name of somebody's own, a part of an address, or a type. */
  | { readonly kind: 'name'; readonly text: string };

const MEMBER = /^([^\s={}"[\]]+)\s*=\s*(.+)$/s;

/** undefined: nothing was typed. */
export function wantedOf(typed: string): Wanted | undefined {
  const text = typed.trim();
  if (text === '') return undefined;
  const href = placeOfId(text);
  if (href !== undefined) return { kind: 'place', href };
  if (text.startsWith('{')) return { kind: 'data', json: text };
  const [, path, value] = MEMBER.exec(text) ?? [];
  // An address may have a query.
  if (path === undefined || value === undefined || path.includes('://')) return { kind: 'name', text };
  return { kind: 'data', json: nested(path.split('.'), value) };
}

/** `order.id=4711` as an object. What is no JSON is a text: `order.name=Ada`. */
function nested(names: readonly string[], value: string): string {
  const leaf = parsedOrUndefined(value) === undefined ? JSON.stringify(value) : value;
  return names.reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, leaf);
}

/** Where what has this id is shown; undefined: it is none that the service has made. */
export function placeOfId(id: string): string | undefined {
  if (/^[A-Za-z0-9_-]{1,128}\.wh_[0-9a-z]{22}$/.test(id)) return `/deliveries/${encodeURIComponent(id)}`;
  if (/^wh_[0-9a-z]{22}$/.test(id)) return `/webhooks/${id}`;
  if (/^rpl_[0-9a-z]{22}$/.test(id)) return `/replays/${id}`;
  return /^evt_[0-9a-z]{22}$/.test(id) ? `/events/${id}` : undefined;
}
