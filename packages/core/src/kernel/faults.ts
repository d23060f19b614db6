import type { z } from 'zod';
import { AppError, type Fault } from './app-error';

/** A request that is well formed and can't be granted for what it says. */
export function invalidRequest(faults: readonly Fault[], cause?: unknown): AppError {
  return new AppError('invalid_request', 'The request is not valid: see "errors".', { faults, cause });
}

/** A path as a JSON Pointer (RFC 6901); of long names no more than the beginning. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${shorten(String(part)).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

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

// Nobody reads more. An answer, and what is remembered of it for a day, would be ten times as long as a body that is made
// of nothing but faults.
const MAX_FAULTS = 100;

/** zod's issues as faults with a JSON Pointer (RFC 6901) each, below `base`: the first hundred. */
export function faultsOf(error: z.ZodError, base = ''): Fault[] {
  const some = error.issues.slice(0, MAX_FAULTS);
  return some.flatMap((issue) => faultsOfIssue(issue, base)).slice(0, MAX_FAULTS);
}

function faultsOfIssue(issue: z.core.$ZodIssue, base: string): Fault[] {
  const pointer = base + jsonPointer(issue.path);
  if (issue.code === 'unrecognized_keys') {
    // `inWords` has a line for each.
    const details = issue.message.split('\n');
    return issue.keys.slice(0, MAX_FAULTS).map((key, i) => ({
      pointer: pointer + jsonPointer([key]),
      detail: details[i] ?? 'is not a known member',
    }));
  }
  return [{ pointer, detail: issue.message }];
}

const MOST_CHARACTERS = 100;

/** For what a client has sent and an error names: an answer is not to be as long as the longest name. */
export function shorten(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  // Half of a surrogate pair is no text.
  const cut = text.slice(0, MOST_CHARACTERS).replace(/[\uD800-\uDBFF]$/, '');
  return `${cut}…`;
}
