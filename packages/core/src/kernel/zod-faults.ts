import type { z } from 'zod';
import type { Fault } from './app-error';
import { jsonPointer } from './json-pointer';

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
    return issue.keys.slice(0, MAX_FAULTS).map((key) => ({
      pointer: pointer + jsonPointer([key]),
      detail: 'is not a known member',
    }));
  }
  return [{ pointer, detail: issue.message }];
}
