import type { z } from 'zod';
import type { Fault } from './app-error';
import { jsonPointer } from './json-pointer';

/** zod's issues as faults with a JSON Pointer (RFC 6901) each, below `base`. */
export function faultsOf(error: z.ZodError, base = ''): Fault[] {
  return error.issues.flatMap((issue) => faultsOfIssue(issue, base));
}

function faultsOfIssue(issue: z.core.$ZodIssue, base: string): Fault[] {
  const pointer = base + jsonPointer(issue.path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      pointer: pointer + jsonPointer([key]),
      detail: 'is not a known member',
    }));
  }
  return [{ pointer, detail: issue.message }];
}
