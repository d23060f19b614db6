import { memberSearchOf, searchOf } from '../components/searched-data';

/** The meaning of a search text. */
export type Wanted =
  /** An id that the service has made; `of` says of what. */
  | { readonly kind: 'id'; readonly of: IdOf; readonly id: string }
  /** Events whose data contain this JSON object. */
  | { readonly kind: 'data'; readonly search: string }
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

/** undefined: nothing was typed. */
export function wantedOf(typed: string): Wanted | undefined {
  const text = typed.trim();
  if (text === '') return undefined;
  const of = kindOfId(text);
  if (of !== undefined) return { kind: 'id', of, id: text };
  const search = text.startsWith('{') ? text : memberSearchOf(text);
  return search === undefined ? { kind: 'name', text } : { kind: 'data', search };
}

/** A search of data that a text may mean, which may as well be an id or a name. */
export interface DataSearch {
  /** As people read it. */
  readonly text: string;
  readonly search: string;
}

const MOST_WORDS = 2;
const BETWEEN_WORDS = /[\s<>()#,;:]+/;
/** Numbers, ids and addresses: words that tell one event from others. */
const TELLING = /[\d@]/;

/** Of `order 4711` the whole text, and `4711`: a value is found as a whole. None for what is a search of data anyway. */
export function dataSearchesOf(typed: string): readonly DataSearch[] {
  const text = typed.trim();
  if (wantedOf(text)?.kind === 'data' || text === '') return [];
  const words = text.split(BETWEEN_WORDS).filter((word) => word !== text && TELLING.test(word));
  return [text, ...words.slice(0, MOST_WORDS)].map((one) => ({ text: one, search: searchOf(one) }));
}

/** undefined: it is none that the service has made. */
function kindOfId(text: string): IdOf | undefined {
  return (Object.keys(FORMS) as IdOf[]).find((of) => FORMS[of].test(text));
}
