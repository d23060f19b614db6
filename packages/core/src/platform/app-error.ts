import { jsonPointer, UNKNOWN_NAME } from '@hookferry/producer/fault-words';
import { z } from 'zod';

/**
 * Every refusal or failure of this product's code, by its stable code. Callers and clients decide by the
 * code, never by the message. `http/problem.ts` of the API has each code's HTTP status.
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
  | 'already_due'
  | 'deliver_at_in_past'
  | 'deliver_at_too_far'
  | 'idempotency_key_reused'
  | 'request_in_progress'
  | 'response_not_kept'
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
  | 'clock_skewed'
  | 'history_unavailable'
  | 'secret_unreadable'
  | 'internal_error';

/** One fault of a request, and its place. */
export const validationErrorSchema = z
  .object({
    pointer: z
      .string()
      .describe(
        'The place of the fault: a JSON Pointer (RFC 6901) into the body, `?/name` for a query parameter, `{name}` for a part of the path, or the name of a header.',
      ),
    detail: z.string().describe('What is wrong with the member, and what is right.'),
  })
  .meta({ id: 'Fault' });
export type ValidationError = Readonly<z.infer<typeof validationErrorSchema>>;

export interface AppErrorOptions {
  readonly validationErrors?: readonly ValidationError[];
  /** When another try makes sense, counted from now. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

export class AppError extends Error {
  override readonly name = 'AppError';
  readonly validationErrors: readonly ValidationError[];
  readonly retryAfterMs: number | undefined;

  constructor(
    readonly code: ErrorCode,
    /** Says what is wrong and, if possible, what to do about it. Never contains a secret. */
    detail: string,
    options: AppErrorOptions = {},
  ) {
    super(detail, { cause: options.cause });
    this.validationErrors = options.validationErrors ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A well-formed request that can't be granted because of its content. */
export function invalidRequest(validationErrors: readonly ValidationError[], cause?: unknown): AppError {
  return new AppError('invalid_request', 'The request is not valid: see "errors".', {
    validationErrors,
    cause,
  });
}

const NAME = '__proto__';

/**
 * The members named `__proto__`, at every depth. JSON may have them, and JSON.parse makes them normal
 * members. zod drops them silently, and a copy of them would set the copy's prototype.
 */
export function prototypeErrors(value: unknown, path: readonly PropertyKey[] = []): ValidationError[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Object.hasOwn(value, NAME)
    ? [{ pointer: jsonPointer([...path, NAME]), detail: 'is a name that no member may have' }]
    : [];
  return [...own, ...Object.entries(value).flatMap(([name, each]) => prototypeErrors(each, [...path, name]))];
}

// Nobody reads more. Otherwise a response, and its copy that is kept for a day, would be ten times as long as
// a body full of errors.
export const MAX_VALIDATION_ERRORS = 100;

/** zod's issues as validation errors with a JSON Pointer (RFC 6901) each, below `base`: the first hundred. */
export function validationErrorsOf(error: z.ZodError, base = ''): ValidationError[] {
  const some = error.issues.slice(0, MAX_VALIDATION_ERRORS);
  return some
    .filter((issue, i) => !isOfWrongType(some[i - 1], issue))
    .flatMap((issue) => faultsOfIssue(issue, base))
    .slice(0, MAX_VALIDATION_ERRORS);
}

/** zod counts the characters of a text that should be a list: its type is all that is wrong with it. */
function isOfWrongType(before: z.core.$ZodIssue | undefined, { path }: z.core.$ZodIssue): boolean {
  return before?.code === 'invalid_type' && jsonPointer(before.path) === jsonPointer(path);
}

function faultsOfIssue(issue: z.core.$ZodIssue, base: string): ValidationError[] {
  const pointer = base + jsonPointer(issue.path);
  if (issue.code === 'unrecognized_keys') {
    // `inWords` has a line for each.
    const details = issue.message.split('\n');
    return issue.keys.slice(0, MAX_VALIDATION_ERRORS).map((key, i) => ({
      pointer: pointer + jsonPointer([key]),
      detail: details[i] ?? UNKNOWN_NAME,
    }));
  }
  return [{ pointer, detail: issue.message }];
}

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
