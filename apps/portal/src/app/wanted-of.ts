import { parsedOrUndefined } from '@hookferry/core/platform/json';

/** The meaning of a search text. */
export type Wanted =
  /** An id that the service has made; `of` says of what. */
  | { readonly kind: 'id'; readonly of: IdOf; readonly id: string }
  /** Events whose data contain this JSON object. */
  | { readonly kind: 'data'; readonly json: string }
  /** An id or a name of somebody's own, a part of an address, or a type. */
  | { readonly kind: 'name'; readonly text: string };

/** Ids whose form says of what they are. */
const FORMS = {
  delivery: /^[A-Za-z0-9_-]{1,128}\.wh_[0-9a-z]{22}$/,
  webhook: /^wh_[0-9a-z]{22}$/,
  event: /^evt_[0-9a-z]{22}$/,
  replay: /^rpl_[0-9a-z]{22}$/,
  contact: /^ct_[0-9a-z]{22}$/,
  message: /^ntf_[0-9a-z]{22}$/,
  auditEntry: /^aud_[0-9a-z]{22}$/,
} as const;
export type IdOf = keyof typeof FORMS;

const MEMBER = /^([^\s={}"[\]]+)\s*=\s*(.+)$/s;

/** undefined: nothing was typed. */
export function wantedOf(typed: string): Wanted | undefined {
  const text = typed.trim();
  if (text === '') return undefined;
  const of = kindOfId(text);
  if (of !== undefined) return { kind: 'id', of, id: text };
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

/** undefined: it is none that the service has made. */
function kindOfId(text: string): IdOf | undefined {
  return (Object.keys(FORMS) as IdOf[]).find((of) => FORMS[of].test(text));
}
