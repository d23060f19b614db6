import { z } from 'zod';

/**
 * Everything that can be refused or go wrong in our own code, by its stable code. Callers and clients decide
 * by the code, never by the message. An error's HTTP status is in the API's `http/problem.ts`.
 */
export type ErrorCode =
  | 'malformed_json'
  | 'invalid_request'
  | 'unauthenticated'
  | 'insufficient_scope'
  | 'operator_only'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'not_found'
  | 'conflict'
  | 'event_id_conflict'
  | 'payload_erased'
  | 'idempotency_key_reused'
  | 'request_in_progress'
  | 'answer_not_kept'
  | 'limit_reached'
  | 'last_admin_key'
  | 'quota_exceeded'
  | 'replays_running'
  | 'precondition_failed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'malformed_request'
  | 'request_timeout'
  | 'uri_too_long'
  | 'headers_too_large'
  | 'rate_limited'
  | 'storage_unavailable'
  | 'secret_unreadable'
  | 'internal_error';

/** One fault in a request: `pointer` is a JSON Pointer into the body, or names a query or path parameter. */
export const validationErrorSchema = z
  .object({ pointer: z.string(), detail: z.string() })
  .meta({ id: 'Fault' });
export type ValidationError = Readonly<z.infer<typeof validationErrorSchema>>;

export interface AppErrorOptions {
  readonly validationErrors?: readonly ValidationError[];
  /** When it makes sense to try again, counted from now. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

export class AppError extends Error {
  override readonly name = 'AppError';
  readonly validationErrors: readonly ValidationError[];
  readonly retryAfterMs: number | undefined;

  constructor(
    readonly code: ErrorCode,
    /** Says what is wrong and, where there is something to do, what to do about it. Never holds a secret. */
    detail: string,
    options: AppErrorOptions = {},
  ) {
    super(detail, { cause: options.cause });
    this.validationErrors = options.validationErrors ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A request that is well formed and can't be granted for what it says. */
export function invalidRequest(validationErrors: readonly ValidationError[], cause?: unknown): AppError {
  return new AppError('invalid_request', 'The request is not valid: see "errors".', {
    validationErrors,
    cause,
  });
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
export function prototypeErrors(value: unknown, path: readonly PropertyKey[] = []): ValidationError[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Object.hasOwn(value, NAME)
    ? [{ pointer: jsonPointer([...path, NAME]), detail: 'is not a name that a member can have' }]
    : [];
  return [...own, ...Object.entries(value).flatMap(([name, each]) => prototypeErrors(each, [...path, name]))];
}

// Nobody reads more. An answer, and what is remembered of it for a day, would be ten times as long as a body that is made
// of nothing but faults.
const MAX_VALIDATION_ERRORS = 100;

/** zod's issues as faults with a JSON Pointer (RFC 6901) each, below `base`: the first hundred. */
export function validationErrorsOf(error: z.ZodError, base = ''): ValidationError[] {
  const some = error.issues.slice(0, MAX_VALIDATION_ERRORS);
  return some.flatMap((issue) => faultsOfIssue(issue, base)).slice(0, MAX_VALIDATION_ERRORS);
}

function faultsOfIssue(issue: z.core.$ZodIssue, base: string): ValidationError[] {
  const pointer = base + jsonPointer(issue.path);
  if (issue.code === 'unrecognized_keys') {
    // `inWords` has a line for each.
    const details = issue.message.split('\n');
    return issue.keys.slice(0, MAX_VALIDATION_ERRORS).map((key, i) => ({
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
