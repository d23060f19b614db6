import { shorten } from '../kernel/faults';
import type { Scalar } from './payload-filter-operators';

/** A value as an explanation shows it. */
export type Found = Scalar | readonly Scalar[] | Readonly<Record<string, Scalar>>;

// An answer explains up to fifty conditions for each of a hundred events.
const MOST_SHOWN = 5;
const MORE = '…';

/** A value out of data that may be long: texts are cut, of lists and objects the first few entries stay. */
export function showFound(value: unknown): Found {
  if (Array.isArray(value)) {
    const shown = value.slice(0, MOST_SHOWN).map(showScalar);
    return value.length > MOST_SHOWN ? [...shown, MORE] : shown;
  }
  return typeof value === 'object' && value !== null ? showObject(value) : showScalar(value);
}

function showObject(value: object): Readonly<Record<string, Scalar>> {
  const shown: [string, Scalar][] = [];
  for (const [name, member] of Object.entries(value).slice(0, MOST_SHOWN + 1)) {
    shown.push(shown.length < MOST_SHOWN ? [shorten(name), showScalar(member)] : [MORE, MORE]);
  }
  return Object.fromEntries(shown);
}

function showScalar(value: unknown): Scalar {
  if (typeof value === 'string') return shorten(value);
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? '[…]' : '{…}';
  return value as Scalar;
}
