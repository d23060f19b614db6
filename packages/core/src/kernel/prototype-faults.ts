import type { Fault } from './app-error';
import { jsonPointer } from './json-pointer';

const NAME = '__proto__';

/**
 * The members named `__proto__`, at every depth. JSON may have them, and JSON.parse makes them members like all others;
 * zod leaves them out of what it gives without a word, and whoever copied them would set the copy's prototype.
 */
export function prototypeFaults(value: unknown, path: readonly PropertyKey[] = []): Fault[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Object.hasOwn(value, NAME)
    ? [{ pointer: jsonPointer([...path, NAME]), detail: 'is not a name that a member can have' }]
    : [];
  return [...own, ...Object.entries(value).flatMap(([name, each]) => prototypeFaults(each, [...path, name]))];
}
