import type { FieldChange } from '../../domain/audit';
import { parseUrl } from '../../platform/parse-url';

/** A field of an object. Without `shown` its value stays out of the record. */
export interface Field {
  readonly value: unknown;
  readonly shown?: unknown;
}

export type Fields = Readonly<Record<string, Field>>;

/** The fields that differ, by their names. A new object has had none. */
export function changesBetween(before: Fields, after: Fields): readonly FieldChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return names
    .filter((name) => JSON.stringify(before[name]?.value) !== JSON.stringify(after[name]?.value))
    .map((field) => ({
      field,
      ...shownAs('from', before[field]),
      ...shownAs('to', after[field]),
    }));
}

function shownAs(side: 'from' | 'to', field: Field | undefined) {
  return field?.shown === undefined ? {} : { [side]: field.shown };
}

/** A field whose value anybody may see who reads the log. */
export function plain(value: unknown): Field {
  return { value, shown: value };
}

/** A field of which the record has the name alone. */
export function hidden(value: unknown): Field {
  return { value };
}

/** A URL without what may be a secret in it: user, password, query and fragment. */
export function plainUrl(url: string): Field {
  const parsed = parseUrl(url);
  return { value: url, shown: parsed && originAndPath(parsed) };
}

function originAndPath({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`;
}

/** All members of an object that holds nothing secret, by their names on the wire. */
export function plainFields(object: Readonly<Record<string, unknown>>): Fields {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [snakeCase(name), plain(value)]));
}

/** The changes of a new object: all its members. */
export function newFields(object: Readonly<Record<string, unknown>>): readonly FieldChange[] {
  return changesBetween({}, plainFields(object));
}

/** `rateLimit` is called `rate_limit` on the wire. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const MAX_ENTRY_CHARACTERS = 4_096;
const MAX_VALUE_CHARACTERS = 512;
const MAX_FIELDS = 100;

/** The same, short enough for a record: long values are cut, and of too many there are the names alone. */
export function boundChanges(changes: readonly FieldChange[]): readonly FieldChange[] {
  const some = changes.slice(0, MAX_FIELDS).map(({ field, ...values }) => ({
    field: field.slice(0, MAX_VALUE_CHARACTERS),
    ...Object.fromEntries(Object.entries(values).map(([side, value]) => [side, cut(value)])),
  }));
  if (JSON.stringify(some).length <= MAX_ENTRY_CHARACTERS) return some;
  return some.map(({ field }) => ({ field: field.slice(0, MAX_ENTRY_CHARACTERS / MAX_FIELDS) }));
}

function cut(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text.length <= MAX_VALUE_CHARACTERS ? value : `${text.slice(0, MAX_VALUE_CHARACTERS)}…`;
}
